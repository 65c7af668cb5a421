//! Steps from callee to caller.

use std::ops::Range;
use std::sync::Arc;

use framehop::{
    CacheNative, FrameAddress, MayAllocateDuringUnwind, Module, UnwindRegsNative, Unwinder,
    UnwinderNative,
};

use super::info::UnwindInfo;

/// Chains that are longer are cut, at the outer end.
const LONGEST_CHAIN: usize = 1024;

/// Changes to walkers before the rule cache is emptied: its entries carry a 16-bit generation that
/// must not come round.
const CACHE_GENERATIONS: u32 = 20_000;

/// The registers that a walk starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    /// Program counter.
    pub pc: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Frame pointer.
    pub fp: u64,
    /// Link register; unused on x86-64.
    pub lr: u64,
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// At the thread's start.
    Complete,
    /// Before that: the copied stack was too short, or there was no way on.
    Truncated,
}

/// What lies at an address.
#[derive(Debug, Clone)]
pub struct Placement {
    /// Addresses of the mapping.
    pub range: Range<u64>,
    /// What is added to an address in the file to get the address in memory, and the file's call
    /// frame information; `None` where there is none.
    pub module: Option<(u64, UnwindInfo)>,
}

/// Rules found for addresses, shared by all processes.
pub struct RuleCache {
    cache: CacheNative<MayAllocateDuringUnwind>,
    generations: u32,
}

impl RuleCache {
    fn count_generation(&mut self) {
        if self.generations >= CACHE_GENERATIONS {
            *self = Self::default();
        }
        self.generations += 1;
    }
}

impl Default for RuleCache {
    fn default() -> Self {
        Self {
            cache: CacheNative::new(),
            generations: 0,
        }
    }
}

impl std::fmt::Debug for RuleCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RuleCache").finish_non_exhaustive()
    }
}

/// Unwinds the stacks of one process. A clone shares the modules' sections.
#[derive(Clone)]
pub struct Walker {
    unwinder: UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>,
    /// Mappings that were asked for, by address.
    known: Vec<Range<u64>>,
    signal_trampolines: Vec<Range<u64>>,
}

impl std::fmt::Debug for Walker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walker")
            .field("modules", &self.known.len())
            .finish_non_exhaustive()
    }
}

impl Walker {
    /// Starts without any module.
    pub fn new(cache: &mut RuleCache) -> Self {
        cache.count_generation();
        Self {
            unwinder: UnwinderNative::new(),
            known: Vec::new(),
            signal_trampolines: Vec::new(),
        }
    }

    /// Walks from a thread's registers and a copy of its stack, which starts at the stack pointer.
    ///
    /// `placement_at` tells what lies at an address; it is asked once a mapping. `each` gets the
    /// address of every frame, innermost first, moved into the call for callers; it returns whether
    /// to go on.
    pub fn walk(
        &mut self,
        cache: &mut RuleCache,
        registers: Registers,
        stack: &[u8],
        mut placement_at: impl FnMut(u64) -> Option<Placement>,
        mut each: impl FnMut(u64) -> bool,
    ) -> Ending {
        let start = registers.sp;
        let mut read_stack = |address: u64| {
            let offset = usize::try_from(address.wrapping_sub(start)).map_err(|_| ())?;
            let end = offset.checked_add(8).ok_or(())?;
            let word = stack.get(offset..end).ok_or(())?;
            Ok(word
                .iter()
                .rev()
                .fold(0, |value, byte| value << 8 | u64::from(*byte)))
        };
        let mut state = native(registers);
        let mut at = FrameAddress::from_instruction_pointer(registers.pc);
        for _ in 0..LONGEST_CHAIN {
            let lookup = at.address_for_lookup();
            self.learn(cache, lookup, &mut placement_at);
            if at.is_return_address() && self.is_signal_trampoline(lookup) {
                // Not called by what it returns to, so its address is not moved into a call.
                if !each(at.address()) {
                    return Ending::Truncated;
                }
                match interrupted(&state, &mut read_stack) {
                    Some(registers) => {
                        state = native(registers);
                        at = FrameAddress::from_instruction_pointer(registers.pc);
                        continue;
                    }
                    None => return Ending::Truncated,
                }
            }
            if !each(lookup) {
                return Ending::Truncated;
            }
            let step =
                self.unwinder
                    .unwind_frame(at, &mut state, &mut cache.cache, &mut read_stack);
            match step {
                Ok(None) => return Ending::Complete,
                Ok(Some(caller)) => match FrameAddress::from_return_address(caller) {
                    Some(caller) => at = caller,
                    None => return Ending::Complete,
                },
                Err(_) => return Ending::Truncated,
            }
        }
        Ending::Truncated
    }

    fn is_signal_trampoline(&self, address: u64) -> bool {
        let mut trampolines = self.signal_trampolines.iter();
        trampolines.any(|range| range.contains(&address))
    }

    /// Adds the module at an address if it is not yet known.
    fn learn(
        &mut self,
        cache: &mut RuleCache,
        address: u64,
        placement_at: &mut impl FnMut(u64) -> Option<Placement>,
    ) {
        let at = self.known.partition_point(|range| range.end <= address);
        if self
            .known
            .get(at)
            .is_some_and(|range| range.start <= address)
        {
            return;
        }
        let Some(Placement { range, module }) = placement_at(address) else {
            return;
        };
        if !range.contains(&address) {
            return;
        }
        if let Some((bias, info)) = module {
            cache.count_generation();
            let trampolines = info.signal_trampolines().iter();
            self.signal_trampolines.extend(
                trampolines
                    .map(|range| range.start.wrapping_add(bias)..range.end.wrapping_add(bias)),
            );
            let sections = info.sections();
            let module = Module::new(String::new(), range.clone(), bias, sections);
            self.unwinder.add_module(module);
        }
        self.known.insert(at, range);
    }
}

#[cfg(target_arch = "x86_64")]
fn native(registers: Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.pc, registers.sp, registers.fp)
}

#[cfg(target_arch = "aarch64")]
fn native(registers: Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.lr, registers.sp, registers.fp)
}

/// Reads the registers of the code that a signal interrupted, from the `ucontext` that the kernel
/// put on the stack for the trampoline: framehop does not follow its call frame information.
///
/// Offsets are those of `struct sigcontext` in the x86-64 kernel interface.
#[cfg(target_arch = "x86_64")]
fn interrupted(
    trampoline: &UnwindRegsNative,
    read_stack: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> Option<Registers> {
    let mut register = |offset: u64| read_stack(trampoline.sp().checked_add(offset)?).ok();
    Some(Registers {
        fp: register(120)?,
        sp: register(160)?,
        pc: register(168)?,
        lr: 0,
    })
}

/// Reads the registers of the code that a signal interrupted, from the `siginfo` (128 bytes) and
/// `ucontext` that the kernel put on the stack for the trampoline.
///
/// Offsets are those of `struct sigcontext` in the aarch64 kernel interface.
#[cfg(target_arch = "aarch64")]
fn interrupted(
    trampoline: &UnwindRegsNative,
    read_stack: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> Option<Registers> {
    let registers = trampoline.sp().checked_add(128 + 176 + 8)?;
    let mut register = |number: u64| read_stack(registers.checked_add(8 * number)?).ok();
    Some(Registers {
        fp: register(29)?,
        lr: register(30)?,
        sp: register(31)?,
        pc: register(32)?,
    })
}
