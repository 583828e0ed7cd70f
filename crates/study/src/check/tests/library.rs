//! Claims of a library's schedules.

use super::*;

/// The claim of any schedule of cuBLASLt for a kind of product.
pub(super) fn of_library(product: &str) -> Claim {
    let family = LibraryFamily::of("cublaslt", Some(product)).unwrap();
    let formats = family.formats().unwrap();
    Claim::of_library(Model::load("hopper").unwrap(), &family, formats).unwrap()
}

#[test]
fn products_by_every_schedule_of_a_library_are_within_the_bound_of_the_library() {
    for product_kind in ["f32.f16.f16.32f", "f16.f16.f16.16f", "bf16.e4m3.e4m3.32f", "bf16.e4m3.e4m3.32f.fast"] {
        let claim = of_library(product_kind);
        for (at, schedule) in claim.schedules.iter().enumerate() {
            let factors = factors(schedule, ProductShape { m: 5, n: 6, k: 300 }, at as u64, 3);
            for parts in [1, 5] {
                let split = SplitK { count: parts.min(schedule.split.count), ..schedule.split };
                let split_schedule = Schedule { split, ..schedule.clone() };
                let check = checked(&claim, &factors, &product(&claim.model, &split_schedule, &factors));
                assert!(check.holds(), "{product_kind}: {split_schedule:?}: {:?}", check.outside);
            }
        }
    }
}

#[test]
fn the_bound_of_a_librarys_promoted_sums_finds_zeros_that_the_bound_of_the_generation_passes() {
    let [a, b, d] = ["e4m3", "e4m3", "f32"].map(|name| format::find(name).unwrap());
    let hopper = Model::load("hopper").unwrap();
    let promoted = of_library("f32.e4m3.e4m3.32f");
    let factors = factors(&promoted.schedules[0], ProductShape { m: 6, n: 6, k: 4096 }, 4, 2);
    let zeros = Matrix::of_values(6, 6, d, &[0; 36]);
    assert!(!checked(&promoted, &factors, &zeros).holds());
    assert!(checked(&Claim::of_generation(hopper, [a, b, d], None).unwrap(), &factors, &zeros).holds());
}

#[test]
fn a_library_that_rounds_its_operands_is_judged_by_the_rounded_operands() {
    let single = format::find("f32").unwrap();
    let family = LibraryFamily::of("cublaslt", None).unwrap();
    let given = Factors::new(drawn(9, 70, single, 1, 3), drawn(70, 8, single, 2, 3));
    let hopper = Model::load("hopper").unwrap();
    let (claim, factors) = Claim::of_product(hopper, Origin::Library(family), given, single, &mut Vec::new()).unwrap();
    assert_eq!(factors.a.format.name, "tf32");
    let d = product(&claim.model, &claim.schedules[0], &factors);
    assert!(checked(&claim, &factors, &d).holds());
}

#[test]
fn a_kind_of_product_is_refused_for_matrices_of_other_formats() {
    let family = LibraryFamily::of("cublaslt", Some("bf16.f16.f16.32f")).unwrap();
    let hopper = Model::load("hopper").unwrap();
    let error = Claim::of_library(hopper, &family, formats("f32")).unwrap_err().to_string();
    assert!(error.contains("for a D in bf16") && error.contains("f16, f16 and f32"), "{error}");
    assert!(LibraryFamily::of("cublas", None).unwrap_err().to_string().contains("cublaslt"));
}

#[test]
fn sums_in_f16_belong_to_a_library_only_where_their_product_is_named() {
    let of = |product: Option<&str>| {
        let family = LibraryFamily::of("cublaslt", product).unwrap();
        Claim::of_library(Model::load("hopper").unwrap(), &family, formats("f16")).unwrap().schedules
    };
    assert!(of(None).iter().all(|schedule| schedule.instruction.d.name == "f32"));
    assert!(of(Some("f16.f16.f16.16f")).iter().all(|schedule| schedule.instruction.d.name == "f16"));
}
