//! The schemas that are made from an API server's document are closed. What is rendered is held against those of a
//! running one by tests/e2e/schemas.rs.

use std::path::PathBuf;

use serde_json::json;

use super::helm::{program, skipped};
use super::kubeconform::Schemas;

fn kubeconform() -> Option<PathBuf> {
    let found = program("kubeconform");
    if found.is_none() {
        skipped(
            "schemas: no kubeconform in KUBEBUILDER_ASSETS or PATH; \
             `go install github.com/yannh/kubeconform/cmd/kubeconform@latest` makes it",
        );
    }
    found
}

#[test]
fn schemas_refuse_what_the_api_server_would() {
    let Some(kubeconform) = kubeconform() else {
        return;
    };
    let kind = |group, kind| json!([{"group": group, "kind": kind, "version": "v1"}]);
    let meta = json!({"kind": {"type": "string"}, "apiVersion": {"type": "string"}});
    let mut gate = json!({
        "type": "object",
        "properties": {"spec": {"$ref": "#/definitions/GateSpec"}},
        "x-kubernetes-group-version-kind": kind("walls.example.com", "Gate"),
    });
    let properties = gate["properties"].as_object_mut().unwrap();
    properties.extend(meta.as_object().unwrap().clone());
    let openapi = json!({"definitions": {
        "Gate": gate,
        "Door": {"type": "object", "properties": meta, "x-kubernetes-group-version-kind": kind("", "Door")},
        "GateSpec": {"type": "object", "properties": {
            "width": {"type": "integer", "format": "int32"},
            "port": {"$ref": "#/definitions/Port"},
            "inner": {"$ref": "#/definitions/GateSpec"},
        }},
        "Port": {"type": "string", "format": "int-or-string"},
    }});
    let schemas = Schemas::of(&openapi, &kubeconform);
    let gate = |spec: &str| {
        let head = "apiVersion: walls.example.com/v1\nkind: Gate\nspec: ";
        schemas.check(&format!("{head}{spec}\n"))
    };
    for fine in [
        "{width: 1, port: 80}",
        "{port: http}",
        "{inner: {inner: {width: 2}}}",
    ] {
        assert_eq!(gate(fine), Ok(()), "{fine}");
    }
    for (wrong, why) in [
        ("{widht: 1}", "widht"),
        ("{width: one}", "/spec/width"),
        ("{port: [80]}", "/spec/port"),
        ("{inner: {inner: {widht: 2}}}", "widht"),
    ] {
        let error = gate(wrong).unwrap_err();
        assert!(error.contains(why), "{wrong}: {error}");
    }
    assert_eq!(schemas.check("apiVersion: v1\nkind: Door\n"), Ok(()));
    // A kind without a schema is no success.
    assert!(schemas.check("apiVersion: v1\nkind: Wall\n").is_err());
}
