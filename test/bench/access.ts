import { performance } from "node:perf_hooks";
import { isTrueAt, listAt, recordAt } from "../../src/api/parse.ts";
import { latencyRow } from "./latency.ts";
import { home, parsed, sharedSecretPath, sharedSecretRequest } from "../support/bench-objects.ts";
import type { Row } from "./report.ts";
import { watchCollection } from "./watch-collection.ts";
import type { Running, BenchFixture } from "./bench-fixture.ts";

const name = "granted";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

/**
 * The time from a change of `spec.access` until the permission is granted or revoked: until the
 * event of the RoleBinding, and until the API server decides accordingly (repeated
 * SubjectAccessReviews, so this is the time until it takes effect).
 */
export async function accessRows(
  fixture: BenchFixture,
  running: Running,
  samples: number,
): Promise<readonly Row[]> {
  const { admin } = fixture;
  const path = sharedSecretPath(home, name);
  await admin.send(sharedSecretRequest({ name }, 1));
  const bindings = await watchCollection(admin, `${rbac}/rolebindings`);
  const taken: Record<"granted" | "bound" | "revoked", number[]> = {
    granted: [],
    bound: [],
    revoked: [],
  };
  const end = await running.readings.begin();
  for (let sample = 0; sample < samples; sample += 1) {
    const user = `reader-${sample}`;
    const give = (users: readonly string[]) =>
      admin.send({
        method: "PATCH",
        path,
        body: { spec: { access: [{ name: "readers", verbs: ["get"], users }] } },
      });
    await give([user, "somebody"]);
    const asked = performance.now();
    const bound = bindings.first(
      ({ type, object }) =>
        type !== "DELETED" &&
        listAt(object, "subjects").some(
          (subject) => recordAt({ subject }, "subject").name === user,
        ),
    );
    taken.granted.push((await untilMay(fixture, user, true)) - asked);
    taken.bound.push(Math.max(0, (await bound).at - asked));
    await give(["somebody"]);
    const askedBack = performance.now();
    taken.revoked.push((await untilMay(fixture, user, false)) - askedBack);
  }
  const usage = await end();
  bindings.stop();
  await admin.send({ method: "DELETE", path });
  await running.readings.settled();
  return [
    latencyRow("grant to RoleBinding", taken.bound, { belowMs: 250 }),
    latencyRow("grant to effect", taken.granted, { belowMs: 250, usage }),
    latencyRow("revoke to effect", taken.revoked, { belowMs: 250 }),
  ];
}

async function untilMay({ admin }: BenchFixture, user: string, wanted: boolean): Promise<number> {
  const resourceAttributes = {
    group: "management.service",
    resource: "sharedsecrets",
    namespace: home,
    name,
    verb: "get",
  };
  const body = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user, groups: ["system:authenticated"], resourceAttributes },
  };
  for (;;) {
    const answer = parsed(
      await admin.send({
        method: "POST",
        path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        body,
      }),
    );
    if (isTrueAt(recordAt(answer, "status"), "allowed") === wanted) return performance.now();
  }
}
