//! Campaigns, recordings, explanations and choices as functions of the library, without the command line.

use std::time::Duration;

use tcnum::{inputs::Sequence, isa};
use tcnum_engine::{
    comparison::Nans,
    device::{self, DeviceName, selection::InstructionChoice},
    report::Report,
};
use tcnum_study::{
    explain::{DeviceResult, DotProductAdd, OperandTexts},
    record::{RecordedTiles, Recording, record_all},
    verify::{
        Campaign, CampaignProgress, CampaignRequest, CounterexampleFiles,
        recordings::{self, RecordingsRequest, VerifiedRecordings},
    },
};

const I: &str = "mma.m16n8k16.f32.f16.f16.f32";
const PATIENCE: Duration = Duration::from_secs(60);

fn open(name: &str) -> Box<dyn device::Device> {
    device::open(Some(&DeviceName::asked(name)), PATIENCE).unwrap()
}

fn request(model: &str) -> CampaignRequest {
    CampaignRequest {
        instructions: vec![isa::find(I).unwrap(); 2],
        devices: Vec::new(),
        timeout: PATIENCE,
        model: Some(model.into()),
        sequence: Sequence::Random { seed: 1 },
        cases: Some(20_000),
        max_mismatches: 3,
        shard: None,
        any_nan: false,
        available: false,
        checkpoint: None,
    }
}

#[test]
fn a_campaign_has_runs_counterexamples_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut device = open("hopper");
    let mut request = request("ampere");
    request.check().unwrap();
    assert_eq!(request.instructions.len(), 1, "an instruction is compared once");
    request.max_mismatches = 1_000_000;
    assert!(request.check().unwrap_err().to_string().contains("lists up to 1000"));
    request.max_mismatches = 3;
    let mut campaign = Campaign::new(request, device.as_mut()).unwrap();
    let mut tiles = 0;
    campaign
        .run(device.as_mut(), &mut |now| {
            if let CampaignProgress::Compared { done, .. } = now {
                tiles = done;
            }
        })
        .unwrap();
    let part = &campaign.parts[0];
    assert!(part.state.differing() >= 3 && tiles * 128 == part.state.compared());
    let listed = part.counterexamples.as_ref().unwrap().len();
    assert!((1..=3).contains(&listed), "{listed}");
    assert_eq!((campaign.compared_with_itself(device.as_ref()), campaign.stopped.is_none()), (0, true));
    let files = CounterexampleFiles::Folder(folder.path().into());
    campaign.write_counterexamples(device.as_mut(), &files, "a test", &mut Vec::new()).unwrap();

    let replay = RecordingsRequest {
        files: recordings::files([folder.path().to_string_lossy().into_owned()]).unwrap(),
        model: Some("ampere".into()),
        keep: 10,
        nans: Nans::ByCode,
        timeout: PATIENCE,
    };
    let mut replayed = VerifiedRecordings::default();
    replayed.execute(&replay, device.as_mut(), &mut |_| {}).unwrap();
    assert_eq!((replayed.replays()[0].tiles, replayed.replays()[0].differing_tiles), (listed, listed));
}

#[test]
fn recordings_are_compared_with_the_model_of_their_generation() {
    let folder = tempfile::tempdir().unwrap();
    let instruction = isa::find(I).unwrap();
    let recording = Recording {
        tiles: RecordedTiles::Mixture { count: Some(100) },
        seed: 1,
        file: folder.path().join("own.safetensors"),
        named: true,
        source: "a test".into(),
        annotations: Vec::new(),
    };
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    let all = [(&instruction, recording)];
    record_all(open("ampere").as_mut(), &all, false, (&mut rows, &mut notes), &mut |_| {}).unwrap();
    assert_eq!((rows.len(), notes.len()), (1, 0));
    for (model, differs) in [(None, false), (Some("hopper"), true)] {
        let request = RecordingsRequest {
            files: recordings::files([folder.path().to_string_lossy().into_owned()]).unwrap(),
            model: model.map(String::from),
            keep: 10,
            nans: Nans::ByCode,
            timeout: PATIENCE,
        };
        let mut compared = VerifiedRecordings::default();
        compared.compare(&request, &mut |_| {}).unwrap();
        let row = &compared.rows()[0];
        assert_eq!((row.differing > 0, &row.model[..]), (differs, model.unwrap_or("ampere")));
    }
}

#[test]
fn operands_as_text_are_explained_in_two_models_and_by_a_device() {
    let instruction = isa::find(I).unwrap();
    let list = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
    let (a, b) = (list(&["1", "0.1"]), list(&["1", "0"]));
    let texts = OperandTexts { a: &a, b: &b, c: Some("-0x1p-25"), ..OperandTexts::default() };
    assert_eq!(texts.rounded(&instruction).unwrap().len(), 1, "0.1 is not a number of f16");
    let mut subject = DotProductAdd::alone(instruction.clone(), texts.case(&instruction).unwrap());
    let d = subject.execute(open("ampere").as_mut(), false).unwrap();
    let mut report = Report::new("explain", "a test");
    let executed = Some(DeviceResult { device: "ampere".into(), code: d });
    let models = subject.explain([None, Some("hopper")], executed, &mut report).unwrap();
    assert_eq!(models.iter().map(|model| &model.name[..]).collect::<Vec<_>>(), ["ampere", "hopper"]);
    assert_eq!((d, report.holds), (0x3f80_0000, false));
    let many = OperandTexts { a: &vec!["1".into(); 17], ..OperandTexts::default() };
    assert!(many.case(&instruction).unwrap_err().to_string().contains("‹a› has 17 values"));
}

#[test]
fn instructions_are_chosen_by_name_by_format_or_all() {
    let names = [I.to_string()];
    let formats = ["e4m3".to_string()];
    let choice = InstructionChoice { names: &names, formats: &formats, all: false };
    let chosen = choice.instructions(&[], None).unwrap();
    assert!(chosen.len() > 1 && chosen[0].name == I && chosen[1..].iter().all(|i| i.a.name == "e4m3"));
    let nothing = InstructionChoice { names: &[], formats: &[], all: false };
    assert!(nothing.instructions(&[], None).unwrap().is_empty());
    assert!(!nothing.instructions(&["bf16"], None).unwrap().is_empty());
    let all = InstructionChoice { all: true, ..nothing };
    assert!(all.instructions(&[], Some(&DeviceName::asked("hopper"))).unwrap().len() > 500);
}
