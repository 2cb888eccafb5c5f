//! The rendered chart against the schemas of the API server that runs.

use hyper::Method;

use crate::chart::{CHART, helm};
use crate::cluster::Cluster;
use crate::kubeconform::Schemas;

tests![every_case_of_the_chart_conforms_to_the_schemas_of_the_api_server];

fn every_case_of_the_chart_conforms_to_the_schemas_of_the_api_server(cluster: &Cluster) {
    let (status, openapi) = cluster.api().ask(Method::GET, "/openapi/v2", None).unwrap();
    assert_eq!(status, 200);
    let openapi = serde_json::from_slice(&openapi).unwrap();
    let schemas = Schemas::of(&openapi, &cluster.program("kubeconform"));
    let cases = std::fs::read_dir(format!("{CHART}/ci")).unwrap();
    let cases: Vec<_> = cases.map(|case| case.unwrap().path()).collect();
    assert!(cases.len() > 8, "{cases:?}");
    for case in &cases {
        let name = case.display().to_string();
        let args = ["template", "transom", CHART, "-n", "transom", "-f", &name];
        let rendered = helm(cluster, cluster.directory(), &args).unwrap();
        if let Err(error) = schemas.check(&rendered) {
            panic!("{name}: {error}");
        }
        // Such a schema says something: a field that Kubernetes does not know is one too many.
        let wrong = rendered.replace("\nspec:\n", "\nspec:\n  unheardOf: true\n");
        let told = schemas.check(&wrong).unwrap_err();
        assert!(told.contains("unheardOf"), "{name}: {told}");
    }
}
