import { describe, expect, test } from "vitest";
import { annotations, extras } from "../../src/api/names.ts";
import {
  takesOver,
  withRequesterAnnotations,
} from "../../src/domain/requester/requester-annotations.ts";
import { checkTokenRule, defaultKey, tokenRuleWarnings } from "../../src/webhooks/key-admission.ts";
import { issuerEntry } from "../support/oidc-fixture.ts";
import { fakeAdmissionContext } from "../support/review-fixture.ts";

const user = (username: string, extra: Readonly<Record<string, readonly string[]>> = {}) => ({
  username,
  uid: "",
  groups: [],
  extra,
});
const issuer = "https://oidc.example";
const ruleOf = (claims: string, requester?: string) => ({
  [annotations.issuer]: issuer,
  [annotations.claims]: claims,
  ...(requester === undefined ? {} : { [annotations.requester]: requester }),
});
const keyWith = (given: object, spec: object = {}) => ({
  metadata: { name: "a", annotations: given },
  spec,
});
const about = { uid: "r", isDryRun: false, namespace: "" };
const requestOf = (object: object, oldObject?: object, username = "alice") => ({
  user: user(username),
  object: { ...object },
  oldObject: oldObject && { ...oldObject },
  ...about,
});

describe("a key without spec.key", () => {
  test.each<[what: string, object: object, stored: object | undefined, hasKey: boolean]>([
    ["gets one", keyWith({}), undefined, true],
    ["gets none beside a rule about tokens", keyWith(ruleOf("sub=main")), undefined, false],
    ["gets none beside half a rule", keyWith({ [annotations.issuer]: issuer }), undefined, false],
    ["gets one beside an empty rule", keyWith({ [annotations.claims]: "" }), undefined, true],
    [
      "gets none back beside a rule",
      keyWith(ruleOf("sub=main")),
      keyWith({}, { key: "a-stored-key-of-alice" }),
      false,
    ],
  ])("%s", async (_what, object, stored, hasKey) => {
    const outcome = await defaultKey(requestOf(object, stored), fakeAdmissionContext());
    expect(JSON.stringify(outcome).includes('"key":')).toBe(hasKey);
  });

  test.each<
    [what: string, object: object, stored: object | undefined, message: string | undefined]
  >([
    ["may have a rule", keyWith(ruleOf("sub=main")), undefined, undefined],
    [
      "must have both annotations",
      keyWith({ [annotations.issuer]: issuer }),
      undefined,
      "metadata.annotations[management.service/claims] is required beside the issuer",
    ],
    [
      "must not trust everybody",
      keyWith(ruleOf("aud=ci/a")),
      undefined,
      "metadata.annotations[management.service/claims] is refused: it names only claims that the " +
        "tokens of many have; name one that only yours have",
    ],
    ["may keep what was stored", keyWith(ruleOf("aud=x")), keyWith(ruleOf("aud=x")), undefined],
  ])("%s", async (_what, object, stored, message) => {
    const outcome = await checkTokenRule(requestOf(object, stored), fakeAdmissionContext());
    expect(outcome).toMatchObject(
      message === undefined ? { kind: "admitted" } : { kind: "refused", message },
    );
  });
});

describe("a warning about a rule", () => {
  const warningsOf = (given: object, stored?: object) =>
    tokenRuleWarnings(
      requestOf(keyWith(given), stored && keyWith(stored)),
      fakeAdmissionContext({ accessKeys: { issuers: () => new Map([[issuer, issuerEntry([])]]) } }),
    );
  const github = "https://token.actions.githubusercontent.com";
  const ofGithub = { [annotations.issuer]: github, [annotations.claims]: "repository_id=1" };

  test("says that nobody runs the issuer, and what the claims leave open", () => {
    expect(warningsOf(ofGithub)).toEqual([
      "metadata.annotations[management.service/issuer]: no issuer of the ConfigMap " +
        "latchkey-issuers has this URL, so no token is accepted",
      expect.stringMatching(
        /^metadata\.annotations\[management\.service\/claims\]: without environment or job_work/,
      ),
    ]);
  });

  test("is not sent about what is meant, is stored or is refused", () => {
    expect(warningsOf(ruleOf("sub=main"))).toEqual([]);
    expect(warningsOf(ofGithub, ofGithub)).toEqual([]);
    expect(warningsOf({ [annotations.issuer]: github })).toEqual([]);
    expect(warningsOf({})).toEqual([]);
  });
});

describe("a rule about tokens", () => {
  test.each<[what: string, object: object, stored: object, by: string, isTaken: boolean]>([
    ["by other claims", keyWith(ruleOf("sub=b")), keyWith(ruleOf("sub=a", "alice")), "bob", true],
    [
      "not by the requester",
      keyWith(ruleOf("sub=b")),
      keyWith(ruleOf("sub=a", "alice")),
      "alice",
      false,
    ],
    [
      "not by the same claims",
      keyWith({ ...ruleOf("sub=a"), [annotations.issuer]: "https://b" }),
      keyWith(ruleOf("sub=a", "alice")),
      "bob",
      false,
    ],
    ["not by taking it out", keyWith({}), keyWith(ruleOf("sub=a", "alice")), "bob", false],
    [
      "not by adding it to a key",
      keyWith(ruleOf("sub=b")),
      keyWith({ [annotations.requester]: "alice" }, { key: "k" }),
      "bob",
      false,
    ],
    [
      "not where a key counts",
      keyWith(ruleOf("sub=b"), { key: "k" }),
      keyWith(ruleOf("sub=a", "alice"), { key: "k" }),
      "bob",
      false,
    ],
    [
      "by a digest in its place",
      keyWith({}, { key: "sha256:x" }),
      keyWith(ruleOf("sub=a", "alice")),
      "bob",
      true,
    ],
    ["not without a requester", keyWith(ruleOf("sub=b")), keyWith(ruleOf("sub=a")), "bob", false],
  ])("is taken over %s", (_what, object, stored, by, isTaken) => {
    const request = requestOf(object, stored, by);
    expect(takesOver(request)).toBe(isTaken);
    const stamped = withRequesterAnnotations(request, "latchkey-system");
    expect(JSON.stringify(stamped)).toContain(isTaken ? '"bob"' : `"name":"a"`);
  });
});

describe("the end of the token of a request", () => {
  const ends = "2026-01-01T00:00:00Z";
  const stampOf = (
    sent: object,
    extra: Readonly<Record<string, readonly string[]>>,
    stored?: object,
  ) =>
    JSON.stringify(
      withRequesterAnnotations(
        {
          ...about,
          user: user("alice", extra),
          object: keyWith(sent),
          oldObject: stored && { ...stored },
        },
        "latchkey-system",
      ),
    );
  const annotated = (value: string) => `"${annotations.credentialEnds}":"${value}"`;
  const withToken = { [extras.keyId]: ["k"], [extras.credentialEnds]: [ends] };

  test("is written on what is made with it, whatever is sent", () => {
    const sent = { [annotations.credentialEnds]: "2030-01-01T00:00:00Z" };
    expect(stampOf({}, withToken)).toContain(annotated(ends));
    expect(stampOf(sent, withToken)).toContain(annotated(ends));
  });

  test("is kept by a restore, which it only restricts", () => {
    expect(stampOf({ [annotations.credentialEnds]: ends }, {})).toContain(annotated(ends));
    expect(stampOf({ [annotations.credentialEnds]: "never" }, {})).not.toContain("never");
  });

  test("does not change later", () => {
    const stored = keyWith({
      [annotations.credentialEnds]: ends,
      [annotations.requester]: "alice",
    });
    expect(stampOf({}, {}, stored)).toContain(annotated(ends));
    const sent = { [annotations.credentialEnds]: "2030-01-01T00:00:00Z" };
    expect(stampOf(sent, withToken, stored)).toContain(annotated(ends));
  });
});
