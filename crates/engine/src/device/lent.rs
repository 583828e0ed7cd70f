//! Devices that a program lends to this library while it uses it.

use std::{cell::RefCell, rc::Rc};

use super::{Device, DeviceName};
use crate::Result;

/// Makes a device.
pub type DeviceMaker = Rc<dyn Fn() -> Result<Box<dyn Device>>>;

thread_local! {
    static LENT: RefCell<Vec<(DeviceName, DeviceMaker)>> = const { RefCell::new(Vec::new()) };
}

/// Does `work` on this thread, during which [`open`](super::open()) also opens `devices`.
pub fn lending<R>(devices: Vec<(DeviceName, DeviceMaker)>, work: impl FnOnce() -> R) -> R {
    /// Removes them, also after a panic.
    struct Restored(usize);
    impl Drop for Restored {
        fn drop(&mut self) {
            LENT.with_borrow_mut(|lent| lent.truncate(self.0));
        }
    }
    let _restored = Restored(LENT.with_borrow(Vec::len));
    LENT.with_borrow_mut(|lent| lent.extend(devices));
    work()
}

/// Returns true if a device of this name is lent.
pub(super) fn has(name: &DeviceName) -> bool {
    LENT.with_borrow(|lent| lent.iter().any(|(known, _)| known == name))
}

/// Makes the lent device of this name.
pub(super) fn device(name: &DeviceName) -> Option<Result<Box<dyn Device>>> {
    let make =
        LENT.with_borrow(|lent| lent.iter().rev().find(|(known, _)| known == name).map(|(_, make)| make.clone()))?;
    Some(make())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::device::{ModelDevice, open};

    #[test]
    fn a_lent_device_is_opened_by_its_name_while_the_work_lasts() {
        let timeout = Duration::from_secs(1);
        let make: DeviceMaker = Rc::new(|| Ok(Box::new(ModelDevice::open("volta")?)));
        let name = DeviceName::from("own:volta");
        let opened = lending(vec![(name.clone(), make)], || open(Some(&name), timeout));
        assert_eq!(opened.unwrap().identity().name, DeviceName::Model("volta".into()));
        assert!(open(Some(&name), timeout).is_err());
    }
}
