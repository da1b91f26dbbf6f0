//! Scenarios of networks: who sends what to whom over which links.

mod distribution;
mod flows;
mod links;
mod notes;
mod rate;
mod rate_file;
mod scenario;
mod tcp;
mod topology;
mod wire;

pub use distribution::{
    Constant, Distribution, Exponential, Fgn, Pareto, SelfSimilar, SizeKind, Sizes, Uniform,
};
pub use flows::{
    DatagramFlows, Flows, GapKind, ReplayFlows, Shared, ShortTcpFlows, TcpFlows, WebFlows,
};
pub use links::LinkSettings;
pub use rate::{Rate, RateFile, RateStep, Steps};
pub use rate_file::{Varying, fingerprint as service_hash};
pub use scenario::NetworkScenario;
pub(crate) use tcp::names as tcp_names;
pub use tcp::{Like, Tcp, Variant};
pub use topology::{Dumbbell, Graph, Link, Pair, ParkingLot, Route, SimplexLink, Star, Topology};
pub use wire::{Bernoulli, GilbertElliott, Loss, Wire};
