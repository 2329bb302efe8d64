import { expect, test } from "vitest";
import { namedResource } from "../../../src/client/explain/served-resources.ts";

const served = [
  { group: "", version: "v1", plural: "pods", kind: "Pod", scope: "Namespaced" },
  { group: "apps", version: "v1", plural: "deployments", kind: "Deployment", scope: "Namespaced" },
  {
    group: "metrics.k8s.io",
    version: "v1",
    plural: "pods",
    kind: "PodMetrics",
    scope: "Namespaced",
  },
] as const;

test.for<[string, string, string, string]>([
  ["pods", "", "pods", ""],
  ["pods/log", "", "pods", "log"],
  ["pods.metrics.k8s.io", "metrics.k8s.io", "pods", ""],
  ["deployments", "apps", "deployments", ""],
  ["Deployment", "apps", "deployments", ""],
  ["deployments.apps/scale", "apps", "deployments", "scale"],
  ["deployments.example.com", "example.com", "deployments", ""],
  ["users", "", "users", ""],
])("%s is a resource of a group", ([word, group, resource, subresource]) => {
  expect(namedResource(word, served)).toEqual({ group, resource, subresource });
});
