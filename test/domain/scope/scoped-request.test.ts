import { expect, test } from "vitest";
import {
  locationOf,
  managementLocation,
  type RequestLocation,
} from "../../../src/domain/scope/scoped-request.ts";

const labelled = {
  "management.service/project": "p",
  "management.service/space": "s",
  "management.service/virtual-cluster": "v",
};
const named = { project: "p", space: "s", virtualCluster: "v" };
const east = { target: "Cluster", cluster: "east" } as const;
const ofVirtualCluster = {
  target: "ProjectVirtualCluster",
  project: "web",
  virtualCluster: "vc",
} as const;
const ofProject = { ...east, project: "web" };

test.each<[string, RequestLocation, Readonly<Record<string, string>> | undefined, object]>([
  ["has no project without a namespace", managementLocation, undefined, {}],
  ["has no project without labels", managementLocation, { team: "a" }, {}],
  ["ignores an empty label", managementLocation, { "management.service/project": "" }, {}],
  ["is in what the labels name", managementLocation, labelled, named],
  ["is in what the labels name in a connected cluster", east, labelled, named],
  ["is in the project of a virtual cluster, whatever its labels", ofVirtualCluster, labelled, {}],
  ["is in the project of a cluster, whatever its labels", ofProject, labelled, {}],
])("the location of a request %s", (_rule, base, namespaceLabels, place) => {
  expect(locationOf(base, namespaceLabels)).toEqual({ ...base, ...place });
});
