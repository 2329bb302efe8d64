import { describe, expect, test } from "vitest";
import type { ScopeRoles } from "../../src/domain/scope/scope-roles.ts";
import { publishedRoles } from "../../src/domain/scope/published-roles.ts";
import { HttpsDocumentError } from "../../src/kube/client/https-document.ts";
import { IssuerRoles, rolesList } from "../../src/published/issuer-roles.ts";
import { listUrl } from "../../src/published/published-list.ts";
import { signRolesList } from "../../src/tokens/roles-list.ts";
import {
  FakeIssuer,
  FakeStateSecret,
  followPublished,
  type FollowingOptions,
  listIssuer,
} from "../support/revoked-list-fixture.ts";
import { settled, TestClock } from "../support/test-clock.ts";
import { newKeys } from "../tokens/signed-text.ts";

const url = `${listIssuer}/openid/v1/roles`;
const notFound = new HttpsDocumentError("status 404");
const maximumAge = 600_000;

/** Roles with these names, which permit everything. */
function rolesNamed(...names: readonly string[]): ScopeRoles {
  const everything = { apiGroups: ["*"], resources: ["*"], verbs: ["*"] };
  return new Map(
    names.map((name) => [name, [{ ...everything, resourceNames: [], nonResourceURLs: [] }]]),
  );
}

/** The version of this number. */
const versionOf = (n: number): string => `${n}`.padStart(32, "0");

async function publish(
  issuer: FakeIssuer,
  n: number,
  { names = [], ageMs = 0, omitted = [] }: PublishedNames,
): Promise<void> {
  const published = { ...publishedRoles(rolesNamed(...names)), omitted };
  const terms = { issuer: listIssuer, now: issuer.clock.now() - ageMs, published };
  const text = await signRolesList({ ...terms, version: versionOf(n) }, issuer.keys);
  issuer.publishText(versionOf(n), text);
}

interface PublishedNames {
  readonly names?: readonly string[];
  readonly ageMs?: number;
  readonly omitted?: readonly string[];
}

function follow(issuer: FakeIssuer, secret: FakeStateSecret, options: FollowingOptions = {}) {
  const replica = followPublished(rolesList, { issuer, secret, url }, options);
  const roles = new IssuerRoles(replica.followed);
  const { clock, until } = replica;
  return {
    ...replica,
    roles,
    names: () => [...roles.current().keys()],
    /** Resolves when it is so; time goes by meanwhile. */
    after: (look: () => boolean, what: string) =>
      until(async () => {
        await clock.run(250);
        return look();
      }, what),
  };
}

/** A replica that follows an issuer with a first list, with the role `viewer`. */
async function following(options: FollowingOptions = {}) {
  const issuer = new FakeIssuer(new TestClock(), newKeys("signing"));
  await publish(issuer, 1, { names: ["viewer"] });
  const replica = follow(issuer, new FakeStateSecret(), options);
  await replica.until(() => replica.names().includes("viewer"), "the first list");
  await settled();
  return replica;
}

test("the list of roles is beside the keys", () => {
  expect(listUrl(rolesList, "https://a/b/openid/v1/jwks")).toBe("https://a/b/openid/v1/roles");
});

describe("the roles of scopes", () => {
  test("are none until the issuer has answered, which is a warning", async () => {
    const issuer = new FakeIssuer(new TestClock(), newKeys("signing"));
    issuer.answer = notFound;
    const replica = follow(issuer, new FakeStateSecret());
    expect(replica.names()).toEqual([]);
    await replica.until(() => issuer.polls.length === 1, "a poll");
    await settled();
    expect(replica.roles.warnings()).toEqual([
      `no list of roles from ${url}: status 404; check the connection; roles of scopes cover nothing`,
    ]);
    await publish(issuer, 1, { names: ["viewer"] });
    issuer.answer = undefined;
    await replica.after(() => replica.names().length > 0, "the list of a newer issuer");
    expect([replica.names(), replica.roles.warnings()]).toEqual([["viewer"], []]);
    await replica.stop();
  });

  test("are replaced by each other list, which decides about live requests again", async () => {
    const replica = await following();
    await publish(replica.issuer, 2, { names: ["editor"] });
    await replica.after(() => replica.names().includes("editor"), "the second list");
    await publish(replica.issuer, 1, { names: ["viewer"] });
    await replica.after(() => replica.names().includes("viewer"), "the first list again");
    expect([replica.names(), replica.state.changes, replica.refused]).toEqual([["viewer"], 3, []]);
    await replica.stop();
  });

  test("are not decided again when the issuer answers with the same list", async () => {
    const replica = await following();
    replica.issuer.answer = notFound;
    replica.issuer.wake();
    await replica.after(() => replica.roles.warnings().length > 0, "a failure");
    replica.issuer.answer = undefined;
    await replica.after(() => replica.roles.warnings().length === 0, "an answer");
    expect([replica.state.changes, replica.names()]).toEqual([1, ["viewer"]]);
    await replica.stop();
  });

  test("are asked for by their version", async () => {
    const replica = await following();
    await replica.clock.run(60_000);
    expect(replica.issuer.polls).toEqual([undefined, versionOf(1), versionOf(1)]);
    await replica.stop();
  });

  test("are not those of a list that was signed more than ten minutes ago", async () => {
    const replica = await following();
    await publish(replica.issuer, 2, { names: ["editor"], ageMs: 599_000 });
    await replica.after(() => replica.names().includes("editor"), "a list that is young enough");
    await publish(replica.issuer, 3, { names: ["everything"], ageMs: 602_000 });
    await replica.after(() => replica.refused.length > 0, "a refusal");
    expect([replica.names(), replica.refused[0]]).toEqual([["editor"], "older"]);
    expect(rolesList.refusals).toContain("older");
    expect(replica.roles.warnings()).toEqual([
      expect.stringContaining("more than ten minutes ago; compare the clocks"),
    ]);
    await replica.stop();
  });

  test("that are too large to be published are a warning", async () => {
    const replica = await following();
    await publish(replica.issuer, 2, { names: ["viewer"], omitted: ["big"] });
    await replica.after(() => replica.roles.warnings().length > 0, "a warning");
    expect(replica.roles.warnings()).toEqual([
      "the issuer left out 1 roles that are too large; they cover nothing",
    ]);
    await replica.stop();
  });

  test("are those of the last list while the issuer does not answer, and after a restart", async () => {
    const replica = await following();
    await replica.until(() => "roles.json" in replica.secret.data, "the list in the Secret");
    replica.issuer.answer = notFound;
    replica.issuer.wake();
    await replica.clock.run(86_400_000);
    expect(replica.names()).toEqual(["viewer"]);
    await replica.stop();
    const again = follow(replica.issuer, replica.secret);
    await again.until(() => again.names().length > 0, "the kept list");
    expect(again.names()).toEqual(["viewer"]);
    expect(Object.keys(replica.secret.data).toSorted()).toEqual([
      "jwks.json",
      "roles.json",
      "roles.jwt",
    ]);
    await again.stop();
  });

  test("are kept compressed if there are many", async () => {
    const issuer = new FakeIssuer(new TestClock(), newKeys("signing"));
    const names = Array.from({ length: 2_400 }, (_, n) => `role-${n}`);
    await publish(issuer, 1, { names });
    const replica = follow(issuer, new FakeStateSecret());
    await replica.until(() => "roles.jwt.gz" in replica.secret.data, "the list in the Secret");
    expect(replica.secret.data["roles.jwt.gz"]?.length).toBeLessThan(350_000);
    await replica.stop();
    issuer.answer = notFound;
    const again = follow(issuer, replica.secret);
    await again.until(() => again.names().length > 0, "the kept list");
    expect(again.names().toSorted()).toEqual(names.toSorted());
    await again.stop();
  });

  test("are none once the list is older than the maximum age", async () => {
    const replica = await following({ maximumAge });
    replica.issuer.answer = notFound;
    replica.issuer.wake();
    await replica.clock.run(maximumAge - 1_000);
    expect(replica.names()).toEqual(["viewer"]);
    await replica.clock.run(2_000);
    expect(replica.names()).toEqual([]);
    await replica.stop();
  });

  test("of another issuer in the Secret are none", async () => {
    const replica = await following();
    await replica.until(() => "roles.json" in replica.secret.data, "the list in the Secret");
    await replica.stop();
    replica.issuer.answer = notFound;
    const other = follow(replica.issuer, replica.secret, { issuer: "https://other" });
    await other.until(() => replica.issuer.polls.length > 1, "a poll");
    await settled();
    expect(other.names()).toEqual([]);
    await other.stop();
  });
});
