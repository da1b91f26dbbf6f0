//! `sluiced run`: routes packets, by the way that the options choose.

use caps::Capability;

use crate::{
    Failure,
    backends::{
        Fate, SPARE_PACKETS,
        nfqueue::{ENOUGH_BUFFER_BYTES, Nfqueue},
        own_rules::OwnRules,
        queue_table::TABLE,
        rules::Rules,
        tun::Tun,
    },
    cli::{Backend, Fail, RunOptions},
    daemon::{Needs, announce, gone, route},
    in_kernel,
    machine::privileges,
    memory::{self, Bound},
    program,
    router::{Router, link::held},
    settings::Settings,
    shadow,
};

/// Runs the command: routes until SIGINT or SIGTERM.
///
/// # Errors
/// If the settings are refused, if something that it needs is missing, or if the kernel delivers no
/// more packets.
pub fn run(options: &RunOptions) -> Result<(), Failure> {
    if options.backend == Some(Backend::Kernel) {
        return in_kernel::run(options);
    }
    let settings = Settings::read(&options.link)?;
    let Some(fail) = options.fail else {
        let tun = over_tun(options, &settings)?;
        let router = Router::new(tun, &settings, Fate::Drop).map_err(gone)?;
        let (feed, shadows) = shadow::asked_for(options.shadow.as_deref(), &settings)?.unzip();
        let router = router.with_shadow(feed);
        // no capability is needed any more: the devices are open
        return route(
            options,
            settings,
            (router, shadows),
            &needs(&[], &memory::bound_over_tun),
        );
    };
    let mut nfqueue = over_nfqueue(options, &settings, fail)?;
    if let Some(interface) = &options.rules {
        nfqueue.keep(OwnRules::set(&Rules {
            interface: interface.clone(),
            queue: options.queue,
            both_ways: settings.reverse.is_some(),
            fail,
        })?);
    }
    let at_end = match fail {
        Fail::Open => Fate::Accept,
        Fail::Closed => Fate::Drop,
    };
    let router = Router::new(nfqueue, &settings, at_end).map_err(gone)?;
    let (feed, shadows) = shadow::asked_for(options.shadow.as_deref(), &settings)?.unzip();
    let router = router.with_shadow(feed);
    let needs = needs(&[privileges::DECIDE], &memory::bound);
    route(options, settings, (router, shadows), &needs)
}

fn needs<'a>(capabilities: &'a [Capability], memory: &'a dyn Fn(&Settings) -> Bound) -> Needs<'a> {
    Needs {
        capabilities,
        folder: None,
        read: Settings::read,
        memory,
    }
}

/// The back end of `--tun`.
fn over_tun(options: &RunOptions, settings: &Settings) -> Result<Tun, Failure> {
    let names = options
        .tun
        .as_deref()
        .expect("clap asks for it without --fail");
    let tun = Tun::open([&names[0], &names[1]], settings.links().len())?;
    if !tun.is_long {
        let (a, b, most) = (&names[0], &names[1], SPARE_PACKETS);
        announce(&format!(
            "{a} and {b} keep fewer than {most} packets until sluiced reads them: part of a long burst \
             may be lost, and is then counted. For more room: ip link set {a} txqueuelen {most}; the \
             same for {b}\n"
        ));
    }
    Ok(tun)
}

/// The kernel's queues.
fn over_nfqueue(options: &RunOptions, settings: &Settings, fail: Fail) -> Result<Nfqueue, Failure> {
    if !privileges::may_decide() {
        return Err(Failure(format!(
            "sluiced run takes the capability CAP_NET_ADMIN: run it as root, or give it to the \
             program: sudo setcap cap_net_admin+ep {}",
            program()
        )));
    }
    let links = settings.links().into_iter();
    let held: Vec<u64> = links.map(held).collect();
    let nfqueue = Nfqueue::open(options.queue, &held, fail)?;
    let bytes = nfqueue.buffer_bytes;
    if bytes < ENOUGH_BUFFER_BYTES {
        announce(&format!(
            "the receive buffer has {bytes} bytes: a burst may be lost, which is counted; \
             sluiced check says how to get more\n"
        ));
    }
    if !nfqueue.shows_counts() {
        announce(&format!(
            "kernel_held, kernel_queue_drops and kernel_buffer_drops are unknown: only root may read \
             {TABLE}\n"
        ));
    }
    Ok(nfqueue)
}
