//! The GPUs of this machine.

use cudarc::driver::{CudaContext, result, sys};

use super::loader;
use crate::{Error, Result, device::Gpu};

/// Number of GPUs; 0 without a working driver.
pub fn count() -> usize {
    initialised().and_then(|()| device_count()).unwrap_or(0)
}

/// All GPUs, in the order of their ordinals.
///
/// # Errors
/// A device error: no driver (which library was looked for), or its failure.
pub fn all() -> Result<Vec<Gpu>> {
    initialised()?;
    (0..device_count()?).map(describe).collect()
}

/// Finds the GPU with this ordinal.
///
/// # Errors
/// As [`all`]; a device error that names the existing GPUs.
pub fn get(ordinal: usize) -> Result<Gpu> {
    initialised()?;
    let count = device_count()?;
    if ordinal >= count {
        let present = match count {
            0 => "the driver sees none".to_string(),
            1 => "there is only cuda:0".to_string(),
            _ => format!("there are cuda:0 to cuda:{}", count - 1),
        };
        return Err(Error::device(format!("no GPU cuda:{ordinal}: {present} (CUDA_VISIBLE_DEVICES can hide GPUs)")));
    }
    describe(ordinal)
}

/// The CUDA version that the driver supports (`13.0`), and the driver's own (`580.95.05`) if known.
///
/// # Errors
/// A device error without a driver.
#[allow(unsafe_code)]
pub fn driver_version() -> Result<(String, Option<String>)> {
    loader::driver()?;
    let mut version = 0;
    // SAFETY: the driver is loaded; the pointer is to a live integer.
    unsafe { sys::cuDriverGetVersion(&mut version) }.result().map_err(|e| failure("cuDriverGetVersion", e))?;
    let module_version = std::fs::read_to_string("/sys/module/nvidia/version").ok().map(|text| text.trim().to_string());
    Ok((format!("{}.{}", version / 1000, version % 1000 / 10), module_version.or_else(proc_version)))
}

/// Reads the version in `NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  ...`.
fn proc_version() -> Option<String> {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let number = |word: &&str| word.contains('.') && word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    text.lines().next()?.split_whitespace().find(number).map(str::to_string)
}

fn initialised() -> Result<()> {
    loader::driver()?;
    result::init().map_err(|e| failure("cuInit", e))
}

fn device_count() -> Result<usize> {
    match CudaContext::device_count() {
        Ok(count) => Ok(usize::try_from(count).unwrap_or(0)),
        Err(error) => Err(failure("cuDeviceGetCount", error)),
    }
}

#[allow(unsafe_code)]
fn describe(ordinal: usize) -> Result<Gpu> {
    let number = i32::try_from(ordinal).map_err(|_| Error::device(format!("no GPU cuda:{ordinal}")))?;
    let device = result::device::get(number).map_err(|e| failure("cuDeviceGet", e))?;
    // SAFETY: the device was returned by the driver.
    let attribute =
        |which| unsafe { result::device::get_attribute(device, which) }.map_err(|e| failure("cuDeviceGetAttribute", e));
    use sys::CUdevice_attribute_enum as Attribute;
    let place = [
        attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?,
        attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?,
        attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?,
    ];
    Ok(Gpu {
        ordinal,
        name: result::device::get_name(device).map_err(|e| failure("cuDeviceGetName", e))?,
        capability: (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        // SAFETY: as above.
        memory: unsafe { result::device::total_mem(device) }.map_err(|e| failure("cuDeviceTotalMem", e))?,
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?.max(1) as u32,
        place: format!("{:08x}:{:02x}:{:02x}.0", place[0], place[1], place[2]),
    })
}

/// The device error of a failed driver call.
pub(super) fn failure(function: &str, error: cudarc::driver::DriverError) -> Error {
    Error::device(format!("{function} failed: {error}"))
}
