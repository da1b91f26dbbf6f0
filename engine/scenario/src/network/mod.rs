//! Scenarios of networks: who sends what to whom over which links.

mod distribution;
mod flows;
mod links;
mod lte;
mod marker;
mod notes;
mod ramp;
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
    CallFlows, DatagramFlows, Flows, GapKind, ReplayFlows, Shared, ShortTcpFlows, TcpFlows,
    VideoFlows, WebFlows,
};
pub use links::LinkSettings;
pub use lte::Lte;
pub use marker::{Marker, SingleRate, TwoRate};
pub use ramp::Ramp;
pub use rate::{DocsisLink, Rate, RateFile, RateStep, Steps, WifiLink};
pub use rate_file::{Varying, fingerprint as service_hash};
pub use scenario::NetworkScenario;
pub(crate) use tcp::names as tcp_names;
pub use tcp::{Like, ServerEcn, Tcp, Variant};
pub use topology::{Dumbbell, Graph, Link, Pair, ParkingLot, Route, SimplexLink, Star, Topology};
pub use wire::{Bernoulli, Bursts, GilbertElliott, Loss, Policer, Wire};
