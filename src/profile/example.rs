//! A small profile for the tests of this room.

use super::model::{
    Accounting, EventInfo, Frame, Module, ModuleKind, Profile, SCHEMA, Stack, Symbol,
};
use crate::plan::CallGraph;

/// Ten samples: recursion, an inlined function, kernel frames with and without a symbol, a
/// truncated stack without symbols, and a name that holds a semicolon and a compiler's suffix.
pub fn example_profile() -> Profile {
    let module = |path: &str, kind| Module {
        path: path.into(),
        build_id: None,
        kind,
    };
    let symbol = |name: &str, inlined| Symbol {
        name: name.into(),
        file: None,
        line: None,
        inlined,
    };
    let frame = |module, address, symbols| Frame {
        module,
        address,
        symbols,
    };
    let stack = |frames: &[u32], truncated, count| Stack {
        thread: "srv".into(),
        frames: frames.into(),
        truncated,
        count,
        weight: count * 1000,
    };
    Profile {
        schema: SCHEMA.into(),
        event: EventInfo {
            name: "cpu-clock".into(),
            unit: "ns".into(),
            frequency_hz: 999,
            call_graph: CallGraph::Fp,
        },
        duration_ns: 1_000_000_000,
        modules: vec![
            module("/opt/srv", ModuleKind::User),
            module("/lib/libc.so.6", ModuleKind::User),
            module("[kernel]", ModuleKind::Kernel),
        ],
        frames: vec![
            frame(0, 0x100, vec![symbol("main", false)]),
            frame(
                0,
                0x200,
                vec![symbol("add", true), symbol("work;er", false)],
            ),
            frame(0, 0x300, vec![symbol("work;er", false)]),
            frame(1, 0x400, vec![]),
            frame(2, 0xffff_0000, vec![]),
            frame(2, 0xffff_1000, vec![symbol("read", false)]),
        ],
        stacks: vec![
            stack(&[1, 0], false, 5),
            stack(&[4, 5, 1, 2, 0], false, 3),
            stack(&[3], true, 2),
        ],
        accounting: Accounting {
            samples: 10,
            ..Accounting::default()
        },
    }
}
