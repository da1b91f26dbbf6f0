//! The command line of `sluiced`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand};

mod values;

pub use values::{Address, Backend, Fail, Timer, Tool};
use values::{USUAL, interface, interval, later, queue, tun_device};

/// Headings of the options of `run` and `check`.
const LINK: &str = "Link and queue";
const NFQUEUE: &str = "With a queue of the kernel (NFQUEUE)";
const TUN: &str = "With two TUN devices";
const QDISC: &str = "With a qdisc of the kernel";
const TELEMETRY: &str = "Telemetry";

const GUIDES: &str = "Guides: docs/guides/first-gate.md (ten minutes, without root) and \
                      docs/guides/router.md.";
const RUN_EXAMPLE: &str = "\
Example: what leaves by eth0, through CoDel before a link of 10 Mbit/s:
  sudo sluiced run --fail open --rules eth0 --rate 10e6 --aqm codel
Guide: docs/guides/router.md";
const CHECK_EXAMPLE: &str = "\
Example: sluiced check --interface eth0
Guide: docs/guides/router.md";

/// A router's queue in user space: any AQM before a link of any rate, with real traffic.
#[derive(Debug, Parser)]
#[command(name = "sluiced", version, max_term_width = 100, after_help = GUIDES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Send a capture through the queue in virtual time; needs no privileges.
    Replay(Box<ReplayOptions>),
    /// Route real packets, until Ctrl-C: hold them in the queue, let them go at the link's rate.
    Run(Box<RunOptions>),
    /// Draw the queue and the sojourn of a daemon that runs, live in the terminal; q ends it.
    Top(TopOptions),
    /// Print the firewall's rules that hand packets to the gate; set them, or take them away.
    Rules(RulesOptions),
    /// Say what is missing on this machine, and the command that provides it.
    Check(CheckOptions),
    /// Compile an AQM for BPF and ask this kernel's verifier; needs root and clang.
    Verify(VerifyOptions),
    /// Have the kernel do the gate's work: an AQM as a kind of qdisc. Needs root and Linux 6.16 or newer.
    #[command(subcommand)]
    Qdisc(QdiscCommand),
    /// Give Prague to the kernel's TCP as a congestion control (BPF). Needs root and Linux 7.0 or newer.
    #[command(subcommand)]
    Prague(PragueCommand),
}

/// `sluiced prague`.
#[derive(Debug, Subcommand)]
pub enum PragueCommand {
    /// Compile it for `install`, on a machine without clang; needs clang, not root.
    Compile(PragueOptions),
    /// Give it to the kernel: sockets can then ask for `prague`. It needs accurate ECN (sysctl
    /// net.ipv4.tcp_ecn=3 at both ends), and sends ECT(0): Linux's TCP sends no ECT(1).
    Install(PragueOptions),
    /// Take it away; connections that have it keep it.
    Remove,
}

/// `sluiced prague compile` and `install`.
#[derive(Args, Debug)]
pub struct PragueOptions {
    /// The object.
    #[arg(value_name = "FILE.o")]
    pub object: PathBuf,
}

/// `sluiced qdisc`.
#[derive(Debug, Subcommand)]
pub enum QdiscCommand {
    /// Compile an AQM for `install --object`, on a machine without clang; needs clang, not root.
    Compile(CompileOptions),
    /// Give an AQM to the kernel as a kind of qdisc, which tc then puts before interfaces:
    /// tc qdisc add dev NAME root KIND.
    Install(Box<InstallOptions>),
    /// Set the rate of a kind that was installed with a rate that varies, as time goes by. Ends after the
    /// last change.
    Follow(Box<FollowOptions>),
    /// Print what the kind's instances have counted, a line of JSON for each.
    Show(KindOptions),
    /// Print what a kind that was installed with --log asked its AQM, and did, since this was last
    /// asked: CSV, event after event.
    Log(KindOptions),
    /// Take the kind away; its qdiscs go on until tc takes them away.
    Remove(KindOptions),
}

/// `sluiced qdisc compile`.
#[derive(Args, Debug)]
pub struct CompileOptions {
    /// An AQM's name, or a C header of your own.
    #[arg(value_name = "NAME|HEADER.h")]
    pub aqm: String,
    /// Where the object goes.
    #[arg(value_name = "FILE.o")]
    pub object: PathBuf,
    /// With the lanes of this scheduler, see `sluice aqms`; some have classes of service.
    #[arg(long, value_name = "NAME")]
    pub scheduler: Option<String>,
    /// Another AQM that classes of service have; may be given several times.
    #[arg(long, value_name = "NAME|HEADER.h")]
    pub also: Vec<String>,
    /// With a log of all decisions.
    #[arg(long)]
    pub log: bool,
}

/// `sluiced qdisc install`.
#[derive(Args, Debug)]
pub struct InstallOptions {
    /// Kind of the qdisc, as tc takes it: at most 15 letters.
    pub kind: String,
    /// Packets leave as fast as the interface takes them; the rate is only what the AQM is shown.
    #[arg(long)]
    pub unshaped: bool,
    /// Keep a log of all decisions in so many MB of memory, for `sluiced qdisc log`.
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub log: Option<u32>,
    /// What is loaded, and how marks are set.
    #[command(flatten)]
    pub object: ObjectOptions,
    /// The link.
    #[command(flatten)]
    pub link: LinkOptions,
}

/// `sluiced qdisc follow`.
#[derive(Args, Debug)]
pub struct FollowOptions {
    /// Kind of the qdisc.
    pub kind: String,
    /// From when on the times of the rates count, ns of CLOCK_MONOTONIC [default: now].
    #[arg(long, value_name = "NS")]
    pub start: Option<u64>,
    /// The link, as it was given to install.
    #[command(flatten)]
    pub link: LinkOptions,
}

/// `sluiced qdisc show`, `log` and `remove`.
#[derive(Args, Debug)]
pub struct KindOptions {
    /// Kind of the qdisc, as tc shows it.
    pub kind: String,
}

/// `sluiced verify`.
#[derive(Args, Debug)]
pub struct VerifyOptions {
    /// An AQM's name, or a C header of your own.
    #[arg(value_name = "NAME|HEADER.h")]
    pub aqm: String,
}

/// The link and its queue.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = LINK)]
pub struct LinkOptions {
    /// Take the link, the limit and the discipline from a scenario of the network world with one
    /// bottleneck. Other options override it. Without it, --rate and --aqm must be given.
    #[arg(long, value_name = "SCENARIO.toml")]
    pub scenario: Option<PathBuf>,
    /// Which of the scenario's disciplines, by its name or label.
    #[arg(long, value_name = "NAME")]
    pub discipline: Option<String>,
    /// The discipline: an AQM with its parameters, such as red:min_th=5,max_th=15. victim=, ecn=,
    /// scheduler= (fifo, sfq, drr or fq) and label= set the queue's part and the name.
    #[arg(long, value_name = "NAME:KEY=VALUE,...")]
    pub aqm: Option<String>,
    /// Rate of the link, such as 10M, or in bits/s, 10e6.
    #[arg(long, value_name = "BPS", allow_negative_numbers = true)]
    pub rate: Option<String>,
    /// Rates in time from the start on, in place of a constant one: CSV with the header
    /// time_s,rate_bps, or a trace of Mahimahi. Before its first row, --rate holds.
    #[arg(long, value_name = "FILE")]
    pub rate_file: Option<PathBuf>,
    /// Begin the times of a rate, of a file or a scenario, so many seconds after the start [default: 0].
    #[arg(long, value_name = "S", value_parser = later, allow_negative_numbers = true)]
    pub rate_from: Option<f64>,
    /// Packets that may wait [default: 250, or as many as --limit-bytes has room for].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub limit: Option<String>,
    /// Bytes that may wait. With a scenario, or with --limit, both limits hold.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub limit_bytes: Option<String>,
    /// Propagation delay of the link, such as 50ms, or in s, 0.05 [default: 0].
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub delay: Option<String>,
    /// Hold packets of the other direction, too, for this propagation delay, s.
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub reverse_delay: Option<String>,
    /// Put the discipline before the other direction, too: hold its packets as well.
    #[arg(long)]
    pub two_way: bool,
    /// Bytes that each packet takes on the link besides its IP packet: 14 or more on Ethernet.
    #[arg(long, value_name = "BYTES", default_value_t = 0, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(..=65_535))]
    pub overhead: u32,
    /// Seed of every random stream.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<String>,
}

/// `sluiced replay`.
#[derive(Args, Debug)]
pub struct ReplayOptions {
    /// The packets: pcap or pcapng.
    pub capture: PathBuf,
    /// Write every decision of the AQM here, as CSV.
    #[arg(long, value_name = "FILE")]
    pub decisions: Option<PathBuf>,
    /// Write the measures here as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// The link.
    #[command(flatten)]
    pub link: LinkOptions,
}

/// `sluiced run`.
#[derive(Args, Debug)]
#[command(after_help = RUN_EXAMPLE)]
pub struct RunOptions {
    /// The link.
    #[command(flatten)]
    pub link: LinkOptions,
    /// What happens to packets while the gate does not run: they pass, or they are dropped.
    #[arg(long, value_name = "open|closed", required_unless_present_any = ["tun", "backend"],
          help_heading = NFQUEUE)]
    pub fail: Option<Fail>,
    /// Number of the kernel's queue; the other direction has the next one.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = queue,
          allow_negative_numbers = true, help_heading = NFQUEUE)]
    pub queue: u16,
    /// Set rules of nft that hand over what leaves by this interface and, if the other direction is
    /// held, what enters by it. They vanish with the gate, however it ends. With --fail open only.
    #[arg(long, value_name = "NAME", value_parser = interface,
          conflicts_with_all = ["tun", "backend"], help_heading = NFQUEUE)]
    pub rules: Option<String>,
    /// Be a cable between two TUN devices. Packets sent by A are held and come in by B. Packets sent
    /// by B come in by A, at once unless the other direction is held, too.
    #[arg(long, num_args = 2, value_names = ["A", "B"], value_parser = tun_device,
          conflicts_with_all = ["fail", "queue"], help_heading = TUN)]
    pub tun: Option<Vec<String>>,
    /// Put a qdisc (BPF) before --interface: the kernel holds the packets and decides, sluiced only
    /// reports. Needs root, Linux 6.16 or newer and clang.
    #[arg(long, value_name = "kernel", requires = "interface",
          conflicts_with_all = ["fail", "queue", "tun", "timer"], help_heading = QDISC)]
    pub backend: Option<Backend>,
    /// With --backend kernel.
    #[command(flatten)]
    pub kernel: KernelOptions,
    /// How precisely packets leave. realtime and spin need the capability CAP_SYS_NICE.
    #[arg(long, value_name = "MODE", default_value = "sleep", help_heading = LINK)]
    pub timer: Timer,
    /// Write counts and measures of each link here, a line of JSON for each interval.
    #[arg(long, value_name = "FILE", help_heading = TELEMETRY)]
    pub jsonl: Option<PathBuf>,
    /// Length of an interval, s.
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = interval,
          allow_negative_numbers = true, help_heading = TELEMETRY)]
    pub interval: f64,
    /// Write counts and measures of the whole run here as JSON, at its end.
    #[arg(long, value_name = "FILE", help_heading = TELEMETRY)]
    pub json: Option<PathBuf>,
    /// Give the live page, and the last interval for sluiced top and Prometheus, at 127.0.0.1:PORT,
    /// [::1]:PORT or unix:PATH; every user of this machine may read it. sluiced top looks at
    /// 127.0.0.1:8417.
    #[arg(long, value_name = "ADDRESS", help_heading = TELEMETRY)]
    pub metrics: Option<Address>,
    /// Send the same arrivals through this discipline, too, and show on the live page what it would
    /// have done; senders do not react to it. As --aqm.
    #[arg(long, value_name = "NAME:KEY=VALUE,...", requires = "metrics",
          help_heading = TELEMETRY)]
    pub shadow: Option<String>,
    /// Let whoever knows the token in this file change the discipline on the live page: 16 letters or
    /// more, which only the file's owner may read.
    #[arg(long, value_name = "FILE", requires = "metrics", help_heading = TELEMETRY)]
    pub token: Option<PathBuf>,
}

/// What only a qdisc of the kernel takes.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = QDISC)]
pub struct KernelOptions {
    /// The interface before which it stands; NAMESPACE/NAME in a namespace of ip netns.
    #[arg(long, value_name = "[NAMESPACE/]NAME", requires = "backend")]
    pub interface: Option<String>,
    /// Kind of the qdisc, as tc shows it: at most 15 letters.
    #[arg(long, value_name = "KIND", default_value = "sluiced")]
    pub kind: String,
    /// What is loaded, and how marks are set.
    #[command(flatten)]
    pub object: ObjectOptions,
}

/// What is given to the kernel.
#[derive(Args, Clone, Debug, Default)]
pub struct ObjectOptions {
    /// What `sluiced qdisc compile` made of the AQM; without it, the AQM is compiled now.
    #[arg(long, value_name = "FILE.o")]
    pub object: Option<PathBuf>,
    /// Where packets come in behind the qdisc: the other end of a veth. Marks (ecn=true) are set
    /// there, as no qdisc of BPF can write to packets. Once for each interface.
    #[arg(long, value_name = "[NAMESPACE/]NAME")]
    pub marks_at: Vec<String>,
}

/// `sluiced top`.
#[derive(Args, Debug)]
pub struct TopOptions {
    /// The daemon's address: what sluiced run was given as --metrics. It takes no privileges to
    /// look. A daemon in another network namespace is found by unix:PATH only.
    #[arg(long, value_name = "ADDRESS", default_value = USUAL)]
    pub metrics: Address,
}

/// `sluiced rules`.
#[derive(Args, Debug)]
pub struct RulesOptions {
    /// The interface before which the queue stands: what leaves by it is held.
    #[arg(long, value_name = "NAME", value_parser = interface)]
    pub interface: String,
    /// Hold what enters by it, too.
    #[arg(long)]
    pub both_ways: bool,
    /// What happens to packets while the gate does not run: they pass, or they are dropped.
    #[arg(long, value_name = "open|closed")]
    pub fail: Fail,
    /// Number of the kernel's queue; the other direction has the next one.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = queue)]
    pub queue: u16,
    /// Set the rules by this program [default: nft, or iptables where nft cannot].
    #[arg(long, value_name = "nft|iptables")]
    pub tool: Option<Tool>,
    /// Set them.
    #[arg(long)]
    pub install: bool,
    /// Take them away.
    #[arg(long, conflicts_with = "install")]
    pub remove: bool,
}

/// `sluiced check`.
#[derive(Args, Debug)]
#[command(after_help = CHECK_EXAMPLE)]
#[command(group(ArgGroup::new("place").args(["interface", "tun"]).multiple(true)))]
pub struct CheckOptions {
    /// Check what a cable between these two TUN devices needs.
    #[arg(long, num_args = 2, value_names = ["A", "B"], value_parser = tun_device,
          conflicts_with_all = ["both_ways", "fail", "queue"], help_heading = TUN)]
    pub tun: Option<Vec<String>>,
    /// Check what a qdisc of the kernel needs, and look for one whose daemon was killed.
    #[arg(long, value_name = "kernel", conflicts_with_all = ["tun", "both_ways", "fail", "queue"],
          help_heading = QDISC)]
    pub backend: Option<Backend>,
    /// The interface before which the queue is to stand; with --backend kernel or --watch also
    /// NAMESPACE/NAME; with --tun, for --watch only, the one by which packets leave behind the cable.
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
    /// For so many seconds, watch a daemon that runs, and say where the queue builds: here or
    /// elsewhere.
    #[arg(long, value_name = "S", value_parser = interval, requires = "place",
          allow_negative_numbers = true, help_heading = TELEMETRY)]
    pub watch: Option<f64>,
    /// Address of that daemon: what sluiced run was given as --metrics.
    #[arg(long, value_name = "ADDRESS", default_value = USUAL, help_heading = TELEMETRY)]
    pub metrics: Address,
    /// Print a line of JSON for each check.
    #[arg(long, conflicts_with = "watch")]
    pub json: bool,
    /// Check that what enters by the interface goes to the next queue.
    #[arg(long, help_heading = NFQUEUE)]
    pub both_ways: bool,
    /// What is to happen to packets while the gate does not run: they pass, or they are dropped.
    #[arg(long, value_name = "open|closed", default_value = "open", help_heading = NFQUEUE)]
    pub fail: Fail,
    /// Number of the kernel's queue.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = queue,
          allow_negative_numbers = true, help_heading = NFQUEUE)]
    pub queue: u16,
}
