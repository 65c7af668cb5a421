//! More time for everything where a guest's code is translated.

use crate::plan::{Length, Plan};

/// How much longer everything may take where the guest's code is translated.
const TRANSLATION_SLOWS: u32 = 10;
/// The plan with more patience.
pub(super) fn patient(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    let longer = |length: &mut Length| length.0 = length.0.saturating_mul(TRANSLATION_SLOWS);
    if let Some(server) = &mut plan.server {
        for length in [
            &mut server.init_timeout,
            &mut server.ready.timeout,
            &mut server.stop_timeout,
        ] {
            longer(length);
        }
    }
    longer(&mut plan.windows.prepare_timeout);
    let loads = plan
        .phase
        .iter_mut()
        .filter_map(|phase| phase.load.as_mut());
    for load in loads.chain(plan.prepare.as_mut()).chain([&mut plan.load]) {
        load.stall_timeout = load
            .stall_timeout
            .saturating_mul(u64::from(TRANSLATION_SLOWS));
    }
    if let Some(program) = &mut plan.load_program {
        longer(&mut program.timeout);
    }
    for phase in &mut plan.phase {
        longer(&mut phase.timeout);
    }
    if let Some(command) = &mut plan.command {
        longer(&mut command.timeout);
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_translated_guest_gets_more_time_and_no_longer_windows() {
        let plan: Plan = toml::from_str(
            "[server]\nstart = 'x'\nready = { timeout = '3s' }\n[windows]\nmeasure = '2s'\nprepare-timeout = '5s'\n",
        )
        .unwrap();
        let longer = patient(&plan);
        let server = longer.server.unwrap();
        assert_eq!(server.ready.timeout, Length::seconds(30));
        assert_eq!(longer.windows.prepare_timeout, Length::seconds(50));
        assert_eq!(longer.windows.measure, Length::seconds(2));
    }
}
