//! The state of a GPU while it works, by NVIDIA's management library, which comes with the driver.
//!
//! Signatures, values and names: NVML API reference, "Device Queries" and "nvmlClocksEventReasons".

use std::{
    ffi::{CString, c_char, c_int, c_uint, c_ulonglong, c_void},
    ptr::null_mut,
    sync::Arc,
};

use libloading::Library;

use crate::device::DeviceState;

/// The library's names.
const NAMES: &[&str] = &["libnvidia-ml.so.1", "libnvidia-ml.so"];
/// The clock of multiprocessors.
const CLOCK_SM: c_uint = 1;
/// The status of success, and that of room that does not suffice.
const SUCCESS: c_int = 0;
const INSUFFICIENT_SIZE: c_int = 7;

/// Why clocks are lower than the highest: the bits, and the vendor's words.
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

/// One GPU, as the library knows it.
#[derive(Clone)]
pub(super) struct Nvml {
    library: Arc<Library>,
    /// The handle as a number: it belongs to the library, not to a thread.
    handle: usize,
}

impl Nvml {
    /// The GPU on this place of the PCI bus (`00000000:1b:00.0`); `None` where the library is not there, or does not know it.
    #[allow(unsafe_code)]
    pub(super) fn open(place: &str) -> Option<Nvml> {
        // SAFETY: the vendor's library, loaded as the loader itself would.
        let library = NAMES.iter().find_map(|name| unsafe { Library::new(*name) }.ok())?;
        let place = CString::new(place).ok()?;
        let mut handle: NvmlHandle = null_mut();
        // SAFETY: the signatures are those of the reference; the pointers are to live values.
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

    /// What the GPU does now.
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

    /// What a function with one number as its result says.
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

    /// Processes that compute on the GPU.
    #[allow(unsafe_code)]
    fn processes(&self) -> Option<u32> {
        let mut count = 0;
        // SAFETY: without room for any, only their number is written.
        let status = unsafe {
            let name = b"nvmlDeviceGetComputeRunningProcesses_v3";
            let function =
                self.library.get::<unsafe extern "C" fn(NvmlHandle, *mut c_uint, *mut c_void) -> c_int>(name).ok()?;
            function(self.handle as NvmlHandle, &mut count, null_mut())
        };
        matches!(status, SUCCESS | INSUFFICIENT_SIZE).then_some(count)
    }
}
