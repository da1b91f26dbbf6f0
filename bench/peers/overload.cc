// Poisson datagrams of several flows, more than the link can carry, before FQ-CoDel in ns-3.
// usage: overload --flows=10 --load=1.5 --seed=1 ...
#include <iostream>
#include <vector>

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace
{
// 970 B of data, 8 of UDP, 20 of IP and 2 of PPP are 1000 B on the wire
constexpr uint32_t DATA = 970;
constexpr double PACKETS_PER_S = 10e6 / 8000;

Ptr<ExponentialRandomVariable> gap;

void
Send(Ptr<Socket> socket)
{
    socket->Send(Create<Packet>(DATA));
    Simulator::Schedule(Seconds(gap->GetValue()), &Send, socket);
}
} // namespace

int
main(int argc, char* argv[])
{
    uint32_t flows = 10, seed = 1;
    double load = 1.5, duration = 200, sample = 0.01;
    CommandLine words(__FILE__);
    words.AddValue("flows", "number of flows", flows);
    words.AddValue("load", "of all flows together, as a share of the link's rate", load);
    words.AddValue("seed", "of the gaps", seed);
    words.AddValue("duration", "s", duration);
    words.AddValue("sample", "time between two samples of the queue, s", sample);
    words.Parse(argc, argv);
    RngSeedManager::SetRun(seed);

    NodeContainer nodes(2);
    InternetStackHelper stack;
    stack.InstallAll();
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    link.SetChannelAttribute("Delay", StringValue("2.5ms"));
    // a device keeps one packet of those that wait, the queue discipline before it the others
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    NetDeviceContainer devices = link.Install(nodes);
    // CoDel spares what is below MinBytes: the last packet, as in RFC 8289
    Config::SetDefault("ns3::CoDelQueueDisc::MinBytes", UintegerValue(DATA + 29));
    TrafficControlHelper control;
    // so many queues that no two flows share one
    control.SetRootQueueDisc("ns3::FqCoDelQueueDisc",
                             "MaxSize", StringValue("10240p"),
                             "Flows", UintegerValue(65535));
    auto disc = control.Install(devices.Get(0)).Get(0);
    Ipv4AddressHelper address("10.0.0.0", "255.255.255.0");
    auto interfaces = address.Assign(devices);

    gap = CreateObject<ExponentialRandomVariable>();
    gap->SetAttribute("Mean", DoubleValue(flows / (load * PACKETS_PER_S)));
    for (uint32_t i = 0; i < flows; ++i)
    {
        auto socket = Socket::CreateSocket(nodes.Get(0), UdpSocketFactory::GetTypeId());
        socket->Connect(InetSocketAddress(interfaces.GetAddress(1), 5000 + i));
        Simulator::Schedule(Seconds(gap->GetValue()), &Send, socket);
    }

    auto queue = DynamicCast<PointToPointNetDevice>(devices.Get(0))->GetQueue();
    std::vector<uint32_t> samples;
    std::function<void()> observe = [&]() {
        samples.push_back(queue->GetNPackets() + disc->GetNPackets());
        Simulator::Schedule(Seconds(sample), observe);
    };
    Simulator::Schedule(Seconds(duration / 2), observe);
    uint32_t arrived = 0, dropped = 0;
    Simulator::Schedule(Seconds(duration / 2), [&]() {
        arrived = disc->GetStats().nTotalReceivedPackets;
        dropped = disc->GetStats().nTotalDroppedPackets;
    });
    Simulator::Stop(Seconds(duration));
    Simulator::Run();
    std::cout << "{\"arrived\": " << disc->GetStats().nTotalReceivedPackets - arrived
              << ", \"dropped\": " << disc->GetStats().nTotalDroppedPackets - dropped
              << ", \"queue\": [";
    for (size_t i = 0; i < samples.size(); ++i)
        std::cout << (i ? "," : "") << samples[i];
    std::cout << "]}\n";
    return 0;
}
