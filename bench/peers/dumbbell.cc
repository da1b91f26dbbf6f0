// The dumb-bell of "LRED" (section 6) in ns-3: N long-lived TCP flows from 5 clients to 5 servers.
// usage: dumbbell --aqm=RED --flows=100 --seed=1 ...
#include <sys/resource.h>

#include <array>
#include <iostream>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace
{
constexpr std::array<int, 5> DELAYS_MS{10, 50, 100, 150, 200};
// 458 B of data, 20 of TCP, 20 of IP and 2 of PPP are 500 B on the wire
constexpr uint32_t SEGMENT = 458;

struct Counts
{
    uint64_t arrived = 0, sent = 0, dropped = 0, received = 0;
};

std::vector<uint32_t> samples;

double
CpuSeconds()
{
    rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_utime.tv_usec / 1e6;
}

void
Print(const char* name, const Counts& at)
{
    std::cout << "\"" << name << "\": [" << at.arrived << "," << at.sent << "," << at.dropped << ","
              << at.received << "],\n";
}

// ns-3's CUBIC, in slow start, opens the window by all segments that an ACK covers. After a time-out
// one ACK may cover hundreds: those that had arrived before and are acknowledged at last. This one
// opens it by one segment for each ACK (RFC 5681, equation 2, with an ACK for each segment).
class MendedCubic : public TcpCubic
{
  public:
    static TypeId
    GetTypeId()
    {
        static TypeId id =
            TypeId("MendedCubic").SetParent<TcpCubic>().AddConstructor<MendedCubic>();
        return id;
    }

    void
    IncreaseWindow(Ptr<TcpSocketState> state, uint32_t acked) override
    {
        const bool slowStart = state->m_cWnd < state->m_ssThresh;
        TcpCubic::IncreaseWindow(state, slowStart ? std::min(acked, 1U) : acked);
    }

    Ptr<TcpCongestionOps>
    Fork() override
    {
        return CopyObject<MendedCubic>(this);
    }
};

TypeId
CongestionControl(const std::string& variant)
{
    if (variant == "Cubic")
        return TcpCubic::GetTypeId();
    return variant == "MendedCubic" ? MendedCubic::GetTypeId() : TcpNewReno::GetTypeId();
}

// What ns-2.35 has by default, as far as ns-3 can have it.
void
TcpAsInNs2(const std::string& variant)
{
    const TypeId congestion = CongestionControl(variant);
    const bool sack = variant != "Newreno";
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(congestion));
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(false));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(sack));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(10)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    // 2289 packets: never reached
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 20));
    // a flow of ns-2 never gives up
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1000000));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(1000000));
}
} // namespace

int
main(int argc, char* argv[])
{
    std::string aqm = "DropTail", variant = "Newreno";
    double accessBps = 100e6, spread = 1, duration = 200, sample = 0.01;
    uint32_t flows = 100, seed = 1, limit = 200;
    CommandLine words(__FILE__);
    words.AddValue("aqm", "DropTail, RED or CoDel", aqm);
    words.AddValue("variant", "Newreno, Sack1, Cubic or MendedCubic", variant);
    words.AddValue("flows", "number of flows", flows);
    words.AddValue("seed", "of the random starts and drops", seed);
    words.AddValue("access_bps", "rate of the access links", accessBps);
    words.AddValue("limit", "buffer, packets, of which one stays free as in ns-2", limit);
    words.AddValue("spread", "starts are uniform over this time, s", spread);
    words.AddValue("duration", "s", duration);
    words.AddValue("sample", "time between two samples of the queue, s", sample);
    words.Parse(argc, argv);
    RngSeedManager::SetRun(seed);
    TcpAsInNs2(variant);

    NodeContainer routers(2), clients(DELAYS_MS.size()), servers(DELAYS_MS.size());
    InternetStackHelper stack;
    stack.InstallAll();
    PointToPointHelper middle, access;
    middle.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    middle.SetChannelAttribute("Delay", StringValue("2.5ms"));
    // a device keeps one packet of those that wait, the queue discipline before it the others
    middle.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    access.SetDeviceAttribute("DataRate", DataRateValue(DataRate(accessBps)));
    access.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000000p"));

    NetDeviceContainer bottleneck = middle.Install(routers);
    auto device = bottleneck.Get(0)->GetObject<PointToPointNetDevice>();
    auto reverse = bottleneck.Get(1)->GetObject<PointToPointNetDevice>();
    reverse->GetQueue()->SetMaxSize(QueueSize("1000000p"));
    TrafficControlHelper control;
    const QueueSizeValue buffer(QueueSize(PACKETS, limit - 2));
    if (aqm == "RED")
    {
        // ns-2's automatic setting for 2500 packets/s
        control.SetRootQueueDisc("ns3::RedQueueDisc",
                                 "MaxSize", buffer,
                                 "MinTh", DoubleValue(6.25),
                                 "MaxTh", DoubleValue(18.75),
                                 "LInterm", DoubleValue(10),
                                 "QW", DoubleValue(4e-4),
                                 "MeanPktSize", UintegerValue(500),
                                 "Gentle", BooleanValue(true),
                                 "Wait", BooleanValue(true),
                                 "LinkBandwidth", StringValue("10Mbps"),
                                 "LinkDelay", StringValue("2.5ms"));
    }
    else if (aqm == "CoDel")
    {
        control.SetRootQueueDisc("ns3::CoDelQueueDisc",
                                 "MaxSize", buffer,
                                 "MinBytes", UintegerValue(500));
    }
    else
    {
        control.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", buffer);
    }
    auto disc = control.Install(device).Get(0);
    Ipv4AddressHelper address("10.0.0.0", "255.255.255.252");
    address.Assign(bottleneck);
    // assigning addresses puts fq_codel before every device that has no queue discipline
    TrafficControlHelper none;
    none.Uninstall(NetDeviceContainer(reverse));
    std::vector<Ipv4Address> sinkAddress;
    for (size_t i = 0; i < DELAYS_MS.size(); ++i)
    {
        for (bool client : {true, false})
        {
            Time delay = client ? MilliSeconds(DELAYS_MS[i]) : MicroSeconds(2500);
            access.SetChannelAttribute("Delay", TimeValue(delay));
            auto end = client ? clients.Get(i) : servers.Get(i);
            auto devices = access.Install(end, routers.Get(client ? 0 : 1));
            address.NewNetwork();
            auto interfaces = address.Assign(devices);
            none.Uninstall(devices);
            if (!client)
                sinkAddress.push_back(interfaces.GetAddress(0));
        }
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    auto uniform = CreateObject<UniformRandomVariable>();
    ApplicationContainer sinks;
    for (uint32_t i = 0; i < flows; ++i)
    {
        const size_t pair = i % DELAYS_MS.size();
        const uint16_t port = 5000 + i;
        InetSocketAddress to(sinkAddress[pair], port);
        BulkSendHelper source("ns3::TcpSocketFactory", to);
        source.SetAttribute("SendSize", UintegerValue(SEGMENT));
        source.Install(clients.Get(pair)).Start(Seconds(uniform->GetValue(0, spread)));
        PacketSinkHelper sink("ns3::TcpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.Add(sink.Install(servers.Get(pair)));
    }

    auto queue = device->GetQueue();
    auto now = [&]() {
        Counts at;
        const auto& stats = disc->GetStats();
        at.sent = stats.nTotalSentPackets - queue->GetNPackets();
        at.dropped = stats.nTotalDroppedPackets;
        at.arrived = stats.nTotalReceivedPackets;
        for (uint32_t i = 0; i < sinks.GetN(); ++i)
            at.received += sinks.Get(i)->GetObject<PacketSink>()->GetTotalRx();
        at.received /= SEGMENT;
        return at;
    };
    std::function<void()> observe = [&]() {
        samples.push_back(queue->GetNPackets() + disc->GetNPackets());
        Simulator::Schedule(Seconds(sample), observe);
    };
    Simulator::Schedule(Seconds(0), observe);
    Counts half;
    Simulator::Schedule(Seconds(duration / 2), [&]() { half = now(); });
    Simulator::Stop(Seconds(duration));
    const double started = CpuSeconds();
    Simulator::Run();
    const double ended = CpuSeconds();

    std::cout << "{";
    Print("half", half);
    Print("end", now());
    std::cout << "\"cpu_s\": " << ended << ", \"loop_cpu_s\": " << ended - started << ",\n";
    std::cout << "\"queue\": [";
    for (size_t i = 0; i < samples.size(); ++i)
        std::cout << (i ? "," : "") << samples[i];
    std::cout << "]}\n";
    return 0;
}
