//! What is asked of the kernel: one sample format for all events of a recording.

use perf_event_open::config::{
    CallChain, Clock, ExtraRecord, Inherit, Mmap, OnExecve, Opts, Priv, RecordIdFormat, RegsMask,
    SampleFormat, SampleOn, SampleSkid, Size, StatFormat, UseBuildId, WakeUp, WakeUpOn,
};

use super::record::{Layout, USER_REGISTERS};
use crate::plan::CallGraph;

/// What all events of a recording have in common.
#[derive(Debug, Clone)]
pub struct Attributes {
    /// Samples a second.
    pub frequency_hz: u64,
    /// How callers are found.
    pub call_graph: CallGraph,
    /// Whether kernel code is sampled too.
    pub kernel: bool,
    /// How exact the instruction pointer is to be.
    pub skid: SampleSkid,
    /// Whether sampling begins only when the thread calls `exec`.
    pub on_exec: bool,
}

impl Attributes {
    /// Returns the options of a sampling event.
    pub fn sampling(&self) -> Opts {
        let mut opts = self.side_band();
        opts.sample_on = SampleOn::Freq(self.frequency_hz);
        opts.sample_skid = self.skid;
        opts.inherit = Some(Inherit::NewChild);
        opts.enable = !self.on_exec;
        opts.on_execve = self.on_exec.then_some(OnExecve::Enable);
        opts
    }

    /// Returns the options of the event that owns a CPU's ring and takes no samples itself.
    pub fn ring_owner(&self, wake_up_bytes: u32) -> Opts {
        let mut opts = self.side_band();
        opts.extra_record = ExtraRecord::default();
        opts.wake_up = WakeUp {
            on: WakeUpOn::Bytes(wake_up_bytes),
            on_aux_bytes: 0,
        };
        opts
    }

    fn side_band(&self) -> Opts {
        Opts {
            exclude: Priv {
                kernel: !self.kernel,
                hv: !self.kernel,
                ..Priv::default()
            },
            sample_format: self.sample_format(),
            record_id_format: RecordIdFormat {
                task: true,
                time: true,
                ..RecordIdFormat::default()
            },
            record_id_all: true,
            extra_record: ExtraRecord {
                task: true,
                comm: true,
                mmap: Mmap {
                    code: true,
                    data: false,
                    ext: Some(UseBuildId(true)),
                },
                ..ExtraRecord::default()
            },
            stat_format: StatFormat::default(),
            // The clock of the windows, see `Recorder::enable`.
            timer: Some(Clock::Monotonic),
            ..Opts::default()
        }
    }

    fn sample_format(&self) -> SampleFormat {
        let mut format = SampleFormat {
            code_addr: true,
            period: true,
            ..SampleFormat::default()
        };
        let chain = |exclude_user| CallChain {
            exclude_user,
            exclude_kernel: !self.kernel,
            defer_user: false,
            // As many as kernel.perf_event_max_stack allows.
            max_stack_frames: 0,
        };
        match self.call_graph {
            CallGraph::None => {}
            CallGraph::Fp => format.call_chain = Some(chain(false)),
            CallGraph::Dwarf { stack_bytes } => {
                format.call_chain = Some(chain(true));
                format.user_regs = Some(RegsMask(USER_REGISTERS));
                format.user_stack = Some(Size(stack_bytes));
            }
        }
        format
    }

    /// Returns what a sample holds under these attributes.
    pub fn layout(&self) -> Layout {
        Layout {
            call_chain: self.call_graph != CallGraph::None,
            user_state: matches!(self.call_graph, CallGraph::Dwarf { .. }),
        }
    }
}
