//! All tables that reports can hold, and the JSON Schema that follows from their declarations.

use crate::{
    base::sorting,
    calc, catalogue, chain, comparison, convert, device, distinguish, experiment, explain, features, gemm, identify,
    power, probe, quantise, record,
    report::{Declaration, schema},
    tree, verify,
};

/// The declarations of all tables, in order of their keys.
pub fn declared() -> Vec<Declaration> {
    let mut all = vec![
        Declaration::of::<calc::CheckRow>(),
        Declaration::of::<calc::LineRow>(),
        Declaration::of::<calc::OperationRow>(),
        Declaration::of::<catalogue::AbsentUnitRow>(),
        Declaration::of::<catalogue::BlockRow>(),
        Declaration::of::<catalogue::CodeRow>(),
        Declaration::of::<catalogue::EvidenceRow>(),
        Declaration::of::<catalogue::GpuRow>(),
        Declaration::of::<catalogue::KeyRow>(),
        Declaration::of::<catalogue::Landmark>(),
        Declaration::of::<catalogue::MatrixRow>(),
        Declaration::of::<catalogue::ModelRow>(),
        Declaration::of::<catalogue::NodeKeyRow>(),
        Declaration::of::<catalogue::ProgramRow>(),
        Declaration::of::<catalogue::ProcessorRow>(),
        Declaration::of::<catalogue::PublishedCell>(),
        Declaration::of::<catalogue::FormatRecord>(),
        Declaration::of::<catalogue::RuleRow>(),
        Declaration::of::<catalogue::ScalarRow>(),
        Declaration::of::<catalogue::SimulatedRow>(),
        Declaration::of::<catalogue::Spelling>(),
        Declaration::of::<chain::table::CurveRow>(),
        Declaration::of::<chain::table::PointRow>(),
        Declaration::of::<comparison::MismatchRow>(),
        Declaration::of::<comparison::VerificationRow>(),
        Declaration::of::<convert::ArrayRow>(),
        Declaration::of::<convert::ConversionRow>(),
        Declaration::of::<convert::ElementRow>(),
        Declaration::of::<convert::ScaleRow>(),
        Declaration::of::<device::ExecCheckRow>(),
        Declaration::of::<distinguish::tables::GenerationRow>(),
        Declaration::of::<distinguish::tables::KitRow>(),
        Declaration::of::<distinguish::tables::KnownRow>(),
        Declaration::of::<distinguish::tables::PairRow>(),
        Declaration::of::<distinguish::tables::ReasonRow>(),
        Declaration::of::<experiment::ProductErrorRow>(),
        Declaration::of::<experiment::table::CellRow>(),
        Declaration::of::<experiment::table::CurvePairRow>(),
        Declaration::of::<experiment::table::DeviceRow>(),
        Declaration::of::<experiment::table::ExplanationRow>(),
        Declaration::of::<experiment::table::FindingRow>(),
        Declaration::of::<experiment::table::ProbePairRow>(),
        Declaration::of::<experiment::table::SampleSizeRow>(),
        Declaration::of::<explain::ResultRow>(),
        Declaration::of::<explain::StepRow>(),
        Declaration::of::<features::tables::FeatureRow>(),
        Declaration::of::<gemm::library::BatchRow>(),
        Declaration::of::<gemm::tables::AccuracyRow>(),
        Declaration::of::<gemm::tables::BetweenRow>(),
        Declaration::of::<gemm::library::tables::LibraryProductRow>(),
        Declaration::of::<gemm::library::tables::LibrarySummaryRow>(),
        Declaration::of::<gemm::tables::MatchRow>(),
        Declaration::of::<gemm::tables::ProductComparisonRow>(),
        Declaration::of::<gemm::tables::ProductRow>(),
        Declaration::of::<gemm::tables::ProductStepRow>(),
        Declaration::of::<gemm::tables::SmallestProductRow>(),
        Declaration::of::<gemm::tables::UlpRow>(),
        Declaration::of::<identify::tables::FingerprintRow>(),
        Declaration::of::<identify::tables::IdentifiedRow>(),
        Declaration::of::<identify::tables::LineEvidenceRow>(),
        Declaration::of::<power::tables::ChangeRow>(),
        Declaration::of::<power::tables::DecisionRow>(),
        Declaration::of::<power::tables::TestedRow>(),
        Declaration::of::<probe::sweep_table::SweepRow>(),
        Declaration::of::<probe::table::ProfileRow>(),
        Declaration::of::<probe::table::SummaryRow>(),
        Declaration::of::<quantise::QuantisationRow>(),
        Declaration::of::<quantise::TensorQuantisationRow>(),
        Declaration::of::<quantise::WorstRunRow>(),
        Declaration::of::<record::RecordingRow>(),
        Declaration::of::<tree::table::ContradictionRow>(),
        Declaration::of::<tree::table::DrawingRow>(),
        Declaration::of::<tree::table::TreeRow>(),
        Declaration::of::<verify::tables::RegimeRow>(),
    ];
    sorting::by_key(&mut all, |table| table.key);
    all
}

/// The JSON Schema of reports, as `schemas/report.schema.json` has it.
pub fn report_schema() -> String {
    let mut text = serde_json::to_string_pretty(&schema::document(&declared())).expect("keys are text");
    text.push('\n');
    text
}
