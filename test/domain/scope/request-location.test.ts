import { expect, test } from "vitest";
import { locationOf } from "../../../src/domain/scope/request-location.ts";

test.each<[string, Readonly<Record<string, string>> | undefined, object]>([
  ["no namespace is nowhere in particular", undefined, {}],
  ["a namespace without labels, too", { team: "a" }, {}],
  ["an empty label names nothing", { "management.service/project": "" }, {}],
  [
    "labels name project, space and virtual cluster",
    {
      "management.service/project": "p",
      "management.service/space": "s",
      "management.service/virtual-cluster": "v",
    },
    { project: "p", space: "s", virtualCluster: "v" },
  ],
])("%s", (_rule, namespaceLabels, place) => {
  expect(locationOf(namespaceLabels)).toEqual({ target: "Management", ...place });
});
