import { describe, expect, test } from "vitest";
import { type CaKnowledge, noCaKnowledge } from "../../../src/domain/certificates/ca-change.ts";
import {
  type CertificatePlan,
  type CertificateValidities,
  dueCertificates,
  type ObservedCertificates,
  planCertificates,
  renewalInstant,
} from "../../../src/domain/certificates/certificate-plan.ts";

const validities: CertificateValidities = {
  ca: { startsAt: 0, endsAt: 3000 },
  serving: { startsAt: 0, endsAt: 300 },
  client: { startsAt: 60, endsAt: 360 },
};

test("a certificate is renewed when a third of its validity remains", () => {
  expect(renewalInstant({ startsAt: 60, endsAt: 360 })).toBe(260);
});

describe("the certificates that are due", () => {
  test.each<[number, readonly string[]]>([
    [199, []],
    [200, ["serving"]],
    [260, ["serving", "client"]],
    // Certificates that a former CA has signed are signed again.
    [2000, ["ca", "serving", "client"]],
  ])("at %i: %j", (now, due) => {
    expect(dueCertificates(validities, now)).toEqual(due);
  });

  test("are all of them with a new CA, regardless of their age", () => {
    expect(
      dueCertificates(
        {
          ...validities,
          serving: { startsAt: 2000, endsAt: 9000 },
          client: { startsAt: 2000, endsAt: 9000 },
        },
        2000,
      ),
    ).toEqual(["ca", "serving", "client"]);
  });
});

describe("the plan for the Secret if", () => {
  const [a, b] = ["a".repeat(64), "b".repeat(64)];
  const now = 100;
  const knowing = (parts: Partial<CaKnowledge>): CaKnowledge => ({ ...noCaKnowledge, ...parts });
  const compared = knowing({ current: [a], isCompared: true });
  const missing = { kind: "missing" } as const;
  const valid = { kind: "valid", formerCa: "", hasAdmissionPath: true } as const;
  const inUse = { validities, dnsNames: ["w.ns.svc"] };
  const nothingPublished = { bundles: 0, fingerprints: [] };
  const wait = { kind: "wait", until: now + 250 } as const;

  test.each<{
    readonly rule: string;
    readonly seen: Partial<ObservedCertificates>;
    readonly at?: number;
    readonly plan: Omit<CertificatePlan, "ca"> & Readonly<Record<string, unknown>>;
    /** The CA knowledge after the plan, if it changes. */
    readonly ca?: CaKnowledge;
  }>([
    {
      rule: "nothing is due",
      seen: {},
      plan: { kind: "keep" },
    },
    {
      rule: "the Secret is invalid",
      seen: { secret: { kind: "invalid" } },
      plan: { kind: "nothing" },
    },
    {
      rule: "no certificates are in use yet",
      seen: { inUse: undefined },
      plan: { kind: "nothing" },
    },
    {
      rule: "the configurations are not listed",
      seen: { ca: knowing({ current: [a] }), published: undefined },
      plan: wait,
    },
    {
      rule: "the configurations are not listed for 10 s",
      seen: { ca: knowing({ current: [a] }), published: undefined, waitedMs: 10_000 },
      plan: { kind: "keep" },
      ca: compared,
    },
    {
      rule: "another CA is published",
      seen: { ca: knowing({ current: [a] }), published: { bundles: 1, fingerprints: [b] } },
      plan: { kind: "replace", renew: [], former: [b] },
      ca: knowing({ current: [a], observed: [b], isCompared: true }),
    },
    {
      rule: "another CA is published and recorded",
      seen: {
        ca: knowing({ current: [a] }),
        published: { bundles: 1, fingerprints: [b] },
        secret: { ...valid, formerCa: b },
      },
      plan: { kind: "keep" },
      ca: knowing({ current: [a], observed: [b], isCompared: true }),
    },
    {
      rule: "kube-apiserver trusts the CA and the Secret records another one",
      seen: { ca: { ...compared, confirmed: a }, secret: { ...valid, formerCa: b } },
      plan: { kind: "replace", renew: [], former: [] },
    },
    {
      rule: "the Secret has no admission path",
      seen: { secret: { ...valid, hasAdmissionPath: false } },
      plan: { kind: "replace", renew: [], former: [] },
    },
    {
      rule: "two certificates are due",
      seen: {},
      at: 260,
      plan: { kind: "replace", renew: ["serving", "client"], former: [] },
    },
    {
      rule: "the serving certificate lacks a DNS name",
      seen: { dnsNames: ["w.ns.svc", "w.example"] },
      plan: {
        kind: "replace",
        renew: ["serving"],
        dnsNames: ["w.ns.svc", "w.example"],
        former: [],
      },
    },
    {
      rule: "the serving certificate has the names of a replica with other options",
      seen: { dnsNames: ["w.example"] },
      plan: {
        kind: "replace",
        renew: ["serving"],
        dnsNames: ["w.example", "w.ns.svc"],
        former: [],
      },
    },
    {
      rule: "the serving certificate has more names",
      seen: { dnsNames: [] },
      plan: { kind: "keep" },
    },
    {
      rule: "the serving certificate is due and lacks a DNS name",
      seen: { dnsNames: ["w.example"] },
      at: 200,
      plan: { kind: "replace", renew: ["serving"], dnsNames: ["w.example"], former: [] },
    },
    {
      rule: "the Secret was deleted while its certificates are in use",
      seen: { secret: missing, ca: { ...compared, observed: [b] } },
      plan: { kind: "create", certificates: inUse, former: [b] },
    },
    {
      rule: "there is no Secret and no CA is published",
      seen: { secret: missing, inUse: undefined, ca: noCaKnowledge },
      plan: { kind: "create", certificates: undefined, former: [] },
      ca: knowing({ isCompared: true }),
    },
    {
      rule: "there is no Secret and the configurations are not listed",
      seen: { secret: missing, inUse: undefined, ca: noCaKnowledge, published: undefined },
      plan: wait,
    },
    {
      rule: "there is no Secret and another replica may have the published certificates",
      seen: {
        secret: missing,
        inUse: undefined,
        ca: noCaKnowledge,
        published: { bundles: 1, fingerprints: [b] },
        waitedMs: 9_999,
      },
      plan: wait,
    },
    {
      rule: "there is no Secret and no replica restores the published certificates for 10 s",
      seen: {
        secret: missing,
        inUse: undefined,
        ca: noCaKnowledge,
        published: { bundles: 1, fingerprints: [b] },
        waitedMs: 10_000,
      },
      plan: { kind: "create", certificates: undefined, former: [b] },
      ca: knowing({ observed: [b], isCompared: true }),
    },
  ])("$rule", ({ seen, at = now, plan, ca }) => {
    const observed: ObservedCertificates = {
      secret: valid,
      inUse,
      ca: compared,
      published: nothingPublished,
      waitedMs: 0,
      dnsNames: ["w.ns.svc"],
      ...seen,
    };
    const { secret, dnsNames } = observed;
    const replaced = plan.kind === "replace" && { secret, certificates: inUse, dnsNames };
    expect(planCertificates(observed, at)).toEqual({ ...replaced, ...plan, ca: ca ?? observed.ca });
  });
});
