//! The state of a GPU under load, from NVIDIA's management library, which comes with the driver.
//!
//! Signatures, values and names: NVML API reference, "Device Queries" and "nvmlClocksEventReasons".

use std::{
    ffi::{CString, c_char, c_int, c_uint, c_ulonglong, c_void},
    ptr::null_mut,
    sync::Arc,
};

use libloading::Library;

use crate::device::DeviceState;

/// File names of the library.
const NAMES: &[&str] = &["libnvidia-ml.so.1", "libnvidia-ml.so"];
/// Number of the multiprocessors' clock.
const CLOCK_SM: c_uint = 1;
/// Status of success.
const SUCCESS: c_int = 0;
/// Status of insufficient room for the answer.
const INSUFFICIENT_SIZE: c_int = 7;

/// Reasons for lower clocks: bits, and the vendor's words.
const REASONS: &[(c_ulonglong, &str)] = &[
    (0x2, "application clocks setting"),
    (0x4, "software power cap"),
    (0x8, "hardware slowdown"),
    (0x10, "sync boost"),
    (0x20, "software thermal slowdown"),
    (0x40, "hardware thermal slowdown"),
    (0x80, "hardware power brake slowdown"),
    (0x100, "display clock setting"),
];

/// A handle of the library.
type NvmlHandle = *mut c_void;

/// One GPU in the library.
#[derive(Clone)]
pub(super) struct Nvml {
    library: Arc<Library>,
    /// The handle as a number: it belongs to the library, not to a thread.
    handle: usize,
}

impl Nvml {
    /// Opens the GPU at this PCI address (`00000000:1b:00.0`).
    /// Returns `None` without the library, or if it does not know the GPU.
    #[allow(unsafe_code)]
    pub(super) fn open(place: &str) -> Option<Nvml> {
        // SAFETY: the vendor's library, loaded as the loader itself would.
        let library = NAMES.iter().find_map(|name| unsafe { Library::new(*name) }.ok())?;
        let place = CString::new(place).ok()?;
        let mut handle: NvmlHandle = null_mut();
        // SAFETY: the signatures are as in the reference; the pointers are to live values.
        let known = unsafe {
            let init = library.get::<unsafe extern "C" fn() -> c_int>(b"nvmlInit_v2").ok()?;
            let find = library
                .get::<unsafe extern "C" fn(*const c_char, *mut NvmlHandle) -> c_int>(
                    b"nvmlDeviceGetHandleByPciBusId_v2",
                )
                .ok()?;
            init() == SUCCESS && find(place.as_ptr(), &mut handle) == SUCCESS
        };
        known.then(|| Nvml { library: Arc::new(library), handle: handle as usize })
    }

    /// Reads the current state.
    pub(super) fn state(&self) -> DeviceState {
        let milliwatts = |name: &[u8]| self.number(name).map(|power| f64::from(power) / 1000.0);
        let reasons = self.reasons().unwrap_or(0);
        DeviceState {
            clock: self.clock(b"nvmlDeviceGetClockInfo"),
            most_clock: self.clock(b"nvmlDeviceGetMaxClockInfo"),
            power: milliwatts(b"nvmlDeviceGetPowerUsage"),
            power_limit: milliwatts(b"nvmlDeviceGetEnforcedPowerLimit"),
            throttled: REASONS.iter().filter(|(bit, _)| reasons & bit != 0).map(|(_, words)| *words).collect(),
            others: self.processes().map(|count| count.saturating_sub(1)),
        }
    }

    /// Calls a function that returns one number.
    #[allow(unsafe_code)]
    fn number(&self, name: &[u8]) -> Option<c_uint> {
        let mut number = 0;
        // SAFETY: the functions that this is called for have this signature; the pointer is to a live number.
        let status = unsafe {
            let function = self.library.get::<unsafe extern "C" fn(NvmlHandle, *mut c_uint) -> c_int>(name).ok()?;
            function(self.handle as NvmlHandle, &mut number)
        };
        (status == SUCCESS).then_some(number)
    }

    #[allow(unsafe_code)]
    fn clock(&self, name: &[u8]) -> Option<u32> {
        let mut clock = 0;
        // SAFETY: as above, with the kind of clock before the result.
        let status = unsafe {
            let function =
                self.library.get::<unsafe extern "C" fn(NvmlHandle, c_uint, *mut c_uint) -> c_int>(name).ok()?;
            function(self.handle as NvmlHandle, CLOCK_SM, &mut clock)
        };
        (status == SUCCESS).then_some(clock)
    }

    #[allow(unsafe_code)]
    fn reasons(&self) -> Option<c_ulonglong> {
        let mut reasons = 0;
        // SAFETY: as above, of a longer number.
        let status = unsafe {
            let name = b"nvmlDeviceGetCurrentClocksThrottleReasons";
            let function =
                self.library.get::<unsafe extern "C" fn(NvmlHandle, *mut c_ulonglong) -> c_int>(name).ok()?;
            function(self.handle as NvmlHandle, &mut reasons)
        };
        (status == SUCCESS).then_some(reasons)
    }

    /// Counts the processes that compute on the GPU.
    #[allow(unsafe_code)]
    fn processes(&self) -> Option<u32> {
        let mut count = 0;
        // SAFETY: without room for any, the library writes only their number.
        let status = unsafe {
            let name = b"nvmlDeviceGetComputeRunningProcesses_v3";
            let function =
                self.library.get::<unsafe extern "C" fn(NvmlHandle, *mut c_uint, *mut c_void) -> c_int>(name).ok()?;
            function(self.handle as NvmlHandle, &mut count, null_mut())
        };
        matches!(status, SUCCESS | INSUFFICIENT_SIZE).then_some(count)
    }
}
