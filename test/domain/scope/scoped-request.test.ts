import { expect, test } from "vitest";
import { locationOf } from "../../../src/domain/scope/scoped-request.ts";

test.each<[string, Readonly<Record<string, string>> | undefined, object]>([
  ["has no project without a namespace", undefined, {}],
  ["has no project without labels", { team: "a" }, {}],
  ["ignores an empty label", { "management.service/project": "" }, {}],
  [
    "takes project, space and virtual cluster from the labels",
    {
      "management.service/project": "p",
      "management.service/space": "s",
      "management.service/virtual-cluster": "v",
    },
    { project: "p", space: "s", virtualCluster: "v" },
  ],
])("the location of a request %s", (_rule, namespaceLabels, place) => {
  expect(locationOf(namespaceLabels)).toEqual({ target: "Management", ...place });
});
