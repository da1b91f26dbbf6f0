//! The command line of `sluiced`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// A router's queue in user space: any AQM before a link of any rate, with real traffic.
#[derive(Debug, Parser)]
#[command(name = "sluiced", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Send a capture through the queue in virtual time; needs no privileges.
    Replay(ReplayOptions),
}

/// The link and its queue.
#[derive(Args, Clone, Debug, Default)]
pub struct LinkOptions {
    /// A scenario of the network world with one bottleneck; options go before it.
    #[arg(long, value_name = "SCENARIO.toml")]
    pub scenario: Option<PathBuf>,
    /// Which of the scenario's disciplines, by its name or label.
    #[arg(long, value_name = "NAME")]
    pub discipline: Option<String>,
    /// The discipline. victim=, ecn=, scheduler= (fifo, sfq, drr or fq) and label= set the queue's
    /// part and the name.
    #[arg(long, value_name = "NAME:KEY=VALUE,...")]
    pub aqm: Option<String>,
    /// Rate of the link, bits/s, such as 10e6.
    #[arg(long, value_name = "BPS")]
    pub rate: Option<String>,
    /// Packets that may wait.
    #[arg(long, value_name = "N")]
    pub limit: Option<String>,
    /// Bytes that may wait.
    #[arg(long, value_name = "N")]
    pub limit_bytes: Option<String>,
    /// Propagation over the link, s.
    #[arg(long, value_name = "S")]
    pub delay: Option<String>,
    /// Hold the other direction, too, for this propagation delay, s.
    #[arg(long, value_name = "S")]
    pub reverse_delay: Option<String>,
    /// The discipline stands before the other direction, too.
    #[arg(long)]
    pub two_way: bool,
    /// Bytes that each packet takes on the link besides its IP packet: 14 or more on Ethernet.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub overhead: u32,
    /// Seed of every random stream.
    #[arg(long, value_name = "N")]
    pub seed: Option<String>,
}

/// `sluiced replay`.
#[derive(Args, Debug)]
pub struct ReplayOptions {
    /// The packets: pcap or pcapng.
    pub capture: PathBuf,
    /// The link.
    #[command(flatten)]
    pub link: LinkOptions,
    /// Write every decision of the AQM here, as CSV.
    #[arg(long, value_name = "FILE")]
    pub decisions: Option<PathBuf>,
    /// Write the measures here as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}
