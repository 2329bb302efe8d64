import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  agentUser,
  clusterOfOutbox,
  isSourceUid,
  outboxName,
  outboxNamespace,
  placeIn,
  reportCount,
  reportName,
  reportNumberOf,
} from "../../../src/domain/outbox/outbox-names.ts";
import { runs } from "../../support/property-runs.ts";

describe("the namespace of an outbox", () => {
  test("names its cluster", () => {
    const clusters = fc.string({ minLength: 1 });
    fc.assert(
      fc.property(clusters, (cluster) => {
        expect(clusterOfOutbox(outboxNamespace(cluster))).toBe(cluster);
      }),
      runs(100),
    );
  });

  test.for(["latchkey-cluster-", "latchkey-clusters", "latchkey-system", ""])(
    "is not %j",
    (namespace) => {
      expect(clusterOfOutbox(namespace)).toBeUndefined();
    },
  );
});

describe("the name of a Secret in an outbox", () => {
  test("is that of a Kubernetes object, and another one for each source", () => {
    const source = fc.record({ namespace: fc.string(), name: fc.string() });
    fc.assert(
      fc.property(source, source, (one, other) => {
        expect(outboxName(one)).toMatch(/^[0-9a-f]{32}$/);
        const isSame = one.namespace === other.namespace && one.name === other.name;
        expect(outboxName(one) === outboxName(other)).toBe(isSame);
      }),
      runs(200),
    );
  });

  test("does not change, because both sides and later versions depend on it", () => {
    expect(outboxName({ namespace: "team", name: "db" })).toBe("8259d1f46bc22980a781fccb15bd98fd");
  });
});

test("the user of an agent names its cluster", () => {
  expect(agentUser("east")).toBe("latchkey-cluster-agent:east");
});

describe("the number of a report", () => {
  test("is that of one of the ConfigMaps, and all of them are used", () => {
    const numbers = Array.from({ length: 500 }, (_, at) => reportNumberOf(`uid-${at}`));
    expect(new Set(numbers)).toEqual(new Set(Array.from({ length: reportCount }, (_, at) => at)));
    expect(reportName(15)).toBe("report-15");
  });
});

describe("a namespace and a name in an untrusted text", () => {
  test.for<[string, string, object]>([
    ["names a SharedSecret", "team/db", { namespace: "team", name: "db" }],
    ["may have dots in the name", "t-1/db.v2", { namespace: "t-1", name: "db.v2" }],
  ])("%s", ([, text, place]) => {
    expect(placeIn(text)).toEqual(place);
  });

  test.for([
    ...["", "db", "/db", "team/", "team/db/x", "team//db", "te.am/db", "Team/db", "team/db "],
    ...["team/db -> web/db", "team/.db", "team/db.", "-t/db", "team/d_b", "team/__proto__"],
    ...[`${"t".repeat(64)}/db`, `team/${"d".repeat(254)}`, "team/ébd", "team/db\n", "team\n/db"],
  ])("is none in %j", (text) => {
    expect(placeIn(text)).toBeUndefined();
  });

  test("is read in no time from a text of any length", () => {
    expect(placeIn("a-".repeat(1_000_000))).toBeUndefined();
    expect(placeIn(`${"a".repeat(60)}/${"a-".repeat(125)}`)).toBeUndefined();
  });
});

describe("the uid of a source in an untrusted text", () => {
  test.for<[string, boolean]>([
    ["0a6e5d7a-7ef1-4ad0-95c6-0b5a1f0a8f36", true],
    ["uid-db", true],
    ["constructor", true],
    ["", false],
    ["__proto__", false],
    ["-a", false],
    ["a".repeat(63), true],
    ["a".repeat(64), false],
    ["a\n", false],
    ["a b", false],
    ['a"', false],
  ])("%j is one: %s", ([text, wanted]) => {
    expect(isSourceUid(text)).toBe(wanted);
  });
});
