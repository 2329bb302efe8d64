import { describe, expect, test } from "vitest";
import { annotations, group, labels } from "../../../src/api/names.ts";
import { recordAt } from "../../../src/api/parse.ts";
import { noteFailure, failureAt } from "../../../src/controllers/failures.ts";
import { copyReconciler } from "../../../src/controllers/kinds/copy.ts";
import { observeRefresh } from "../../../src/controllers/refreshes.ts";
import { encodeBody } from "../../../src/kube/client/request-body.ts";
import { refusal, type Request } from "../../support/fake-client.ts";
import { projectNamespace, rawCopy, rawSharedSecret } from "../../support/fake-informers.ts";
import { rawObject } from "../../support/fake-list-watch.ts";
import { observedSource } from "../../support/observed-copies.ts";
import { settled } from "../../support/test-clock.ts";
import { fakeWorld } from "../../support/world.ts";

const wanted = { namespaces: [projectNamespace("pay")], sharedsecrets: [rawSharedSecret("db")] };
const orphan = { namespaces: [projectNamespace("pay")], secrets: [rawCopy("db", "pay")] };

async function setup(
  listed: Parameters<typeof fakeWorld>[0],
  answer?: (request: Request) => unknown,
) {
  const found = await fakeWorld(listed, answer === undefined ? {} : { answer });
  const { world } = found;
  const failure = (): string | undefined => {
    const reported = failureAt("copy", "pay/db", world);
    return reported && `${reported.reason} ${reported.message}`;
  };
  const refuse = () =>
    noteFailure(
      copyReconciler,
      "pay/db",
      { kind: "refused", reason: "Forbidden", message: "no" },
      world,
    );
  return {
    ...found,
    failure,
    refuse,
    failures: world.memory.failures.copy,
    reconcile: () => found.reconcile(copyReconciler, "pay/db"),
  };
}

describe("a Secret with a label without effect", () => {
  const wrong = { labels: { [`${group}/sharedsecret`]: "db" } };
  const ownSecret = (metadata: object) =>
    rawObject({ namespace: "pay", name: "db", ...metadata }, { type: "Opaque", data: {} });
  const copyWith = (metadata: object) => {
    const { metadata: given } = rawCopy("db", "pay");
    const marks = { ...recordAt(given, "labels"), ...wrong.labels };
    return rawCopy("db", "pay", { metadata: { labels: marks, ...metadata } });
  };
  const placeholder = (error: string) =>
    ownSecret({
      labels: {
        ...wrong.labels,
        [labels.sharedSecretName]: "",
        [labels.sharedSecretNamespace]: "",
      },
      annotations: { [annotations.syncError]: error },
    });
  const unfilled = `${labels.sharedSecretName}: the label is empty; set it to the name of a SharedSecret`;
  const gone = {
    namespaces: [projectNamespace("pay", { deletionTimestamp: "2026-01-01T00:00:00Z" })],
  };
  const owned = { ...wanted, namespaces: [projectNamespace("pay")] };

  test.for<[string, Parameters<typeof fakeWorld>[0], readonly string[]]>([
    ["of a user has an Event", { ...orphan, secrets: [ownSecret(wrong)] }, ["UnknownAnnotation"]],
    ["at a target, too", { ...owned, secrets: [ownSecret(wrong)] }, ["UnknownAnnotation"]],
    ["and a copy, too", { ...owned, secrets: [copyWith({})] }, ["UnknownAnnotation"]],
    [
      "and a placeholder, too",
      { ...orphan, secrets: [placeholder(unfilled)] },
      ["UnknownAnnotation"],
    ],
    ["but not before its writes", { ...orphan, secrets: [placeholder("old")] }, ["NotFilled"]],
    ["nor one that is deleted", { ...orphan, secrets: [copyWith({})] }, []],
    ["nor one whose namespace is", { ...gone, secrets: [ownSecret(wrong)] }, []],
    ["nor one without", { ...orphan, secrets: [ownSecret({})] }, []],
  ])("%s", async ([, listed, expected]) => {
    const { events, reconcile } = await setup(listed, ({ verb, ref }) =>
      verb === "getMetadata" ? refusal("NotFound", { objectName: ref.name }) : undefined,
    );
    expect(await reconcile()).toEqual({ kind: "done" });
    expect(events).toEqual(expected);
  });

  test("is enqueued for a new leader", async () => {
    const { enqueued, enqueueAll } = await setup({ ...orphan, secrets: [ownSecret(wrong)] });
    await enqueueAll();
    expect(enqueued).toContain("copy pay/db low");
  });
});

describe("a reconcile of a target", () => {
  test("creates a missing copy, and forgets its failure", async () => {
    const { client, failures, refuse, reconcile } = await setup(wanted);
    refuse();
    expect(await reconcile()).toEqual({ kind: "done" });
    expect([client.lines, failures.size]).toEqual([["create secrets pay/db"], 0]);
  });

  test("writes nothing if the copy is current", async () => {
    const { client, reconcile } = await setup({ ...wanted, secrets: [rawCopy("db", "pay")] });
    expect(await reconcile()).toEqual({ kind: "done" });
    expect(client.lines).toEqual([]);
  });

  test("reads the target first if a refresh waits for it, once, and writes nothing if it is current", async () => {
    const { client, refreshed, world, reconcile } = await setup({
      ...wanted,
      secrets: [rawCopy("db", "pay")],
    });
    const source = observedSource({ metadata: { annotations: { [annotations.refreshNow]: "1" } } });
    const targets = () => [{ namespace: "pay", name: "db" }];
    observeRefresh(source, { targets, now: 0 }, world);
    expect(world.memory.refreshes.byTarget.size).toBe(1);
    await reconcile();
    await reconcile();
    expect([refreshed, client.lines, world.memory.refreshes.byTarget.size]).toEqual([
      ["secrets pay/db"],
      [],
      0,
    ]);
  });

  test("records in the copy that its source is invalid", async () => {
    const typo = rawSharedSecret("db", {
      metadata: {
        annotations: { [annotations.syncToProjects]: "web", [annotations.disableSync]: "maybe" },
      },
    });
    const { client, reconcile } = await setup({
      ...wanted,
      sharedsecrets: [typo],
      secrets: [rawCopy("db", "pay")],
    });
    await reconcile();
    expect(client.lines).toEqual(["patch secrets pay/db"]);
  });
});

test("a source that is misspelt and corrected again and again is not contested", async () => {
  const { client, failure, listWatch, reconcile } = await setup({
    ...wanted,
    secrets: [rawCopy("db", "pay")],
  });
  const misspelt = { [annotations.syncToProjects]: "web", [annotations.disableSync]: "maybe" };
  const withError = {
    annotations: {
      [annotations.copyOf]: "team/db -> pay/db",
      [annotations.syncError]: "management.service/disable-sync: no",
    },
  };
  for (let round = 0; round < 8; round += 1) {
    listWatch.emit(
      "sharedsecrets",
      "MODIFIED",
      rawSharedSecret("db", { metadata: { annotations: misspelt } }),
    );
    listWatch.emit("secrets", "MODIFIED", rawCopy("db", "pay"));
    expect(await reconcile()).toEqual({ kind: "done" });
    listWatch.emit("sharedsecrets", "MODIFIED", rawSharedSecret("db"));
    listWatch.emit("secrets", "MODIFIED", rawCopy("db", "pay", { metadata: withError }));
    expect(await reconcile()).toEqual({ kind: "done" });
  }
  expect(client.lines.filter((line) => line.startsWith("patch"))).toHaveLength(8);
  expect(client.lines.filter((line) => line.startsWith("replace"))).toHaveLength(8);
  expect(failure()).toBeUndefined();
});

test("a copy that somebody changes again and again is repaired after what others wait for", async () => {
  const { world, listWatch, enqueued } = await setup({
    ...wanted,
    secrets: [rawCopy("db", "pay")],
  });
  const priorities = async () => {
    enqueued.length = 0;
    listWatch.emit("secrets", "MODIFIED", rawCopy("db", "pay", { data: { other: "eA==" } }));
    await settled();
    return enqueued.filter((line) => line.startsWith("copy "));
  };
  expect(await priorities()).toEqual(["copy pay/db high"]);
  world.memory.repairs.set(" secrets/pay/db", { intent: "same", repairs: 0, at: 0 });
  expect(await priorities()).toEqual(["copy pay/db high"]);
  world.memory.repairs.set(" secrets/pay/db", { intent: "same", repairs: 1, at: 0 });
  expect(await priorities()).toEqual(["copy pay/db last"]);
});

describe("a source whose data is too large for the cache", () => {
  const big = { password: "Y2FuYXJ5".repeat(2_000) };
  const bigger = { password: "b3RoZXI=".repeat(2_000) };
  const source = (data: Readonly<Record<string, string>>, uid = "uid-db") =>
    rawObject({ namespace: "team", name: "db", uid }, { spec: { data } });
  const listed = { ...wanted, sharedsecrets: [rawSharedSecret("db", { data: big })] };

  test("is read if a copy is written, and not for a current copy", async () => {
    const { client, reconcile } = await setup(listed, ({ verb }) =>
      verb === "get" ? source(big) : {},
    );
    expect(await reconcile()).toEqual({ kind: "done" });
    expect(client.lines).toEqual(["get sharedsecrets team/db", "create secrets pay/db"]);
    expect(encodeBody(client.requests[1]?.body)).toContain(big.password);
    const quiet = await setup({ ...listed, secrets: [rawCopy("db", "pay", { data: big })] });
    await quiet.reconcile();
    expect(quiet.client.lines).toEqual([]);
  });

  test.for<[string, unknown]>([
    ["has other data", source(bigger)],
    ["is another object", source(big, "uid-other")],
    ["is gone", refusal("NotFound", { objectName: "db" })],
  ])("is requeued without a write if the SharedSecret %s", async ([, answer]) => {
    const { client, clock, reconcile } = await setup(listed, () => answer);
    expect(await reconcile()).toEqual({ kind: "requeue-at", at: clock.now() + 5000 });
    expect(client.lines).toEqual(["get sharedsecrets team/db"]);
  });

  test("is evaluated again after the read, because it may have changed meanwhile", async () => {
    let change = (): void => {};
    const { client, listWatch, reconcile } = await setup(listed, ({ verb }) => {
      if (verb === "get") change();
      return source(big);
    });
    change = () =>
      listWatch.emit(
        "sharedsecrets",
        "MODIFIED",
        rawSharedSecret("db", { projects: "other", data: big }),
      );
    expect(await reconcile()).toEqual({ kind: "done" });
    expect(client.lines).toEqual(["get sharedsecrets team/db"]);
  });

  test("is an error of the reconcile if it cannot be read, and only reported at the target if that repeats", async () => {
    const { enqueued, failure, reconcile } = await setup(listed, () => refusal("Forbidden"));
    await expect(reconcile()).rejects.toMatchObject({ code: "Forbidden" });
    expect([failure(), enqueued]).toEqual([undefined, ["copy pay/db in 30000 ms"]]);
  });
});

describe("an orphaned copy", () => {
  test("is deleted once the API server confirms that its source is gone", async () => {
    const { client, reconcile } = await setup(orphan, ({ verb }) =>
      verb === "getMetadata" ? refusal("NotFound", { objectName: "db" }) : {},
    );
    expect(await reconcile()).toEqual({ kind: "done" });
    expect(client.lines).toEqual(["getMetadata sharedsecrets team/db", "delete secrets pay/db"]);
    expect(client.requests[1]?.body).toMatchObject({ uid: "uid-pay-db" });
  });

  const existing = rawObject({ namespace: "team", name: "db", uid: "uid-db" });
  test.for<[string, unknown]>([
    ["its source exists in the API server", existing],
    ["the resource is not served", refusal("NotFound")],
  ])("is kept and requeued while %s", async ([, answer]) => {
    const { client, clock, reconcile } = await setup(orphan, () => answer);
    expect(await reconcile()).toEqual({ kind: "requeue-at", at: clock.now() + 5000 });
    expect(client.lines).toHaveLength(1);
  });

  test("is kept while the API server cannot be read", async () => {
    const { client, reconcile } = await setup(orphan, () => refusal("ServerError"));
    await expect(reconcile()).rejects.toMatchObject({ code: "ServerError" });
    expect(client.lines).toHaveLength(1);
  });
});

describe("a copy without permission that the API server does not delete", () => {
  const withdrawn = {
    ...wanted,
    sharedsecrets: [rawSharedSecret("db", { projects: "other" })],
    secrets: [rawCopy("db", "pay")],
  };
  const lines = ["delete secrets pay/db", "replace secrets pay/db"];
  const answering =
    (...verbs: readonly string[]) =>
    ({ verb }: Request) =>
      verbs.includes(verb) ? refusal("Forbidden", { explanation: "denied" }) : {};

  test.for<[string, Error]>([
    ["a policy rejects it", refusal("Forbidden", { explanation: "denied" })],
    ["Latchkey lacks a permission", refusal("Forbidden", { lacksPermission: true })],
    ["a webhook fails", refusal("ServerError", { explanation: "webhook failed" })],
  ])("is emptied if %s", async ([, error]) => {
    const { client, failure, reconcile } = await setup(withdrawn, ({ verb }) =>
      verb === "delete" ? error : {},
    );
    await reconcile().catch(() => undefined);
    expect(client.lines).toEqual(lines);
    const emptied = client.requests[1]?.body;
    const marks = { [labels.sourceUid]: "uid-db" };
    expect(emptied).toMatchObject({ metadata: { labels: marks }, type: "Opaque", data: {} });
    expect(failure()).toBeDefined();
  });

  test("is deleted again, and not emptied once more", async () => {
    const { client, listWatch, reconcile } = await setup(withdrawn, answering("delete"));
    await reconcile();
    listWatch.emit("secrets", "MODIFIED", rawCopy("db", "pay", { data: {} }));
    await reconcile();
    expect(client.lines).toEqual([...lines, "delete secrets pay/db"]);
  });

  test("is tried as often as ever, however long", async () => {
    const { clock, reconcile } = await setup(withdrawn, answering("delete"));
    await reconcile();
    clock.advance(600_000);
    expect(await reconcile()).toEqual({ kind: "requeue-with-backoff" });
  });

  test("is tried as often as ever if it is a placeholder whose emptying is rejected", async () => {
    const asking = { [labels.sharedSecretName]: "db", [labels.sharedSecretNamespace]: "team" };
    const filled = {
      labels: { ...asking, [labels.sourceUid]: "uid-db" },
      annotations: {
        [annotations.copyOf]: "team/db -> pay/db",
        [annotations.filled]: "true",
      },
    };
    const { client, clock, reconcile } = await setup(
      { ...withdrawn, secrets: [rawCopy("db", "pay", { metadata: filled })] },
      answering("replace"),
    );
    await reconcile();
    clock.advance(600_000);
    expect(await reconcile()).toEqual({ kind: "requeue-with-backoff" });
    expect(client.lines).toEqual(["replace secrets pay/db", "replace secrets pay/db"]);
  });

  test("stays a failure if it is not emptied either", async () => {
    const { client, failure, reconcile } = await setup(withdrawn, answering("delete", "replace"));
    expect(await reconcile()).toEqual({ kind: "requeue-with-backoff" });
    expect([failure(), client.lines]).toEqual(["Forbidden denied", lines]);
  });

  test("is kept if it is permitted again meanwhile", async () => {
    const change = { emit: (): void => {} };
    const { client, listWatch, reconcile } = await setup(withdrawn, (request) => {
      change.emit();
      return answering("delete")(request);
    });
    change.emit = () => listWatch.emit("sharedsecrets", "MODIFIED", rawSharedSecret("db"));
    await reconcile();
    expect(client.lines).toEqual(lines.slice(0, 1));
  });

  test("is emptied where the write of the next source is rejected, too", async () => {
    const copyOf = { [annotations.copyOf]: "team/former -> pay/db" };
    const { client, reconcile } = await setup(
      { ...wanted, secrets: [rawCopy("db", "pay", { metadata: { annotations: copyOf } })] },
      ({ verb, body }) => {
        const isEmptied = JSON.stringify(body).includes('"data":{}');
        const isRefused = verb === "delete" || (verb === "replace" && !isEmptied);
        return isRefused ? refusal("Forbidden", { explanation: "denied" }) : {};
      },
    );
    expect(await reconcile()).toEqual({ kind: "requeue-with-backoff" });
    expect(client.lines).toEqual([
      "replace secrets pay/db",
      "delete secrets pay/db",
      "replace secrets pay/db",
    ]);
  });
});

describe("a rejected write", () => {
  test("is requeued if the name exists, and the existing Secret is read", async () => {
    const { clock, refreshed, failure, reconcile } = await setup(wanted, () =>
      refusal("AlreadyExists", { explanation: "object is being deleted" }),
    );
    expect(await reconcile()).toEqual({ kind: "requeue-with-backoff" });
    expect([refreshed, failure()]).toEqual([["secrets pay/db"], undefined]);
    clock.advance(30_000);
    await reconcile();
    expect(failure()).toBe("AlreadyExists object is being deleted");
  });

  test.for<[string, Error]>([
    ["is terminating", refusal("Forbidden", { causes: ["NamespaceTerminating"] })],
    [
      "is gone",
      refusal("NotFound", {
        message: "POST /api/v1/namespaces/pay/secrets: 404",
        objectName: "pay",
      }),
    ],
  ])("is not retried if the namespace %s", async ([, error]) => {
    const { failures, refuse, reconcile } = await setup(wanted, () => error);
    refuse();
    expect(await reconcile()).toEqual({ kind: "done" });
    expect(failures.size).toBe(0);
  });

  test.for(["Forbidden", "Invalid", "BadRequest"] as const)(
    "is recorded for %s and retried with backoff, without an error of the reconcile",
    async (code) => {
      const { failure, client, reconcile } = await setup(wanted, () =>
        refusal(code, { explanation: "exceeded quota" }),
      );
      expect(await reconcile()).toEqual({ kind: "requeue-with-backoff" });
      expect([failure(), client.lines]).toEqual([
        `${code} exceeded quota`,
        ["create secrets pay/db"],
      ]);
    },
  );

  test("is retried every five minutes after ten minutes", async () => {
    const { clock, reconcile } = await setup(wanted, () => refusal("Forbidden"));
    await reconcile();
    clock.advance(599_999);
    expect(await reconcile()).toEqual({ kind: "requeue-with-backoff" });
    clock.advance(1);
    expect(await reconcile()).toEqual({ kind: "requeue-with-backoff", atLeastMs: 250_000 });
  });

  const explanation = "exceeded quota";
  test.for<[string, Error]>([
    ["the API server or another webhook fails", refusal("ServerError", { explanation })],
    ["Latchkey lacks a permission", refusal("Forbidden", { explanation, lacksPermission: true })],
  ])("is recorded if %s, and is an error of the reconcile", async ([, error]) => {
    const { failure, reconcile } = await setup(wanted, () => error);
    await expect(reconcile()).rejects.toBe(error);
    expect(failure()).toMatch(/^(ServerError|Forbidden) exceeded quota$/);
  });

  describe("of an existing copy", () => {
    const drifted = { ...wanted, secrets: [rawCopy("db", "pay", { data: {} })] };
    const answering =
      (rejectsMark: boolean) =>
      ({ verb }: Request) =>
        verb === "replace" || (verb === "patch" && rejectsMark)
          ? refusal("Forbidden", { explanation: "denied by policy" })
          : {};

    test("is recorded in the copy", async () => {
      const { client, reconcile } = await setup(drifted, answering(false));
      expect(await reconcile()).toEqual({ kind: "requeue-with-backoff" });
      expect(client.lines).toEqual(["replace secrets pay/db", "patch secrets pay/db"]);
      expect(client.requests[1]?.body).toMatchObject({
        body: {
          metadata: { annotations: { [annotations.syncError]: "Forbidden: denied by policy" } },
        },
      });
    });

    test("is not recorded in the copy if the API server fails", async () => {
      const { client, reconcile } = await setup(drifted, () => refusal("ServerError"));
      await expect(reconcile()).rejects.toMatchObject({ code: "ServerError" });
      expect(client.lines).toEqual(["replace secrets pay/db"]);
    });

    test("ends the reconcile even if the annotation is rejected, too", async () => {
      const { reconcile } = await setup(drifted, answering(true));
      expect(await reconcile()).toEqual({ kind: "requeue-with-backoff" });
    });
  });

  test("is recorded with the reason of the API server, if there is one", async () => {
    const { failure, reconcile } = await setup(wanted, () =>
      refusal("ServerError", { reason: "InternalError", explanation: "webhook failed" }),
    );
    await expect(reconcile()).rejects.toMatchObject({ code: "ServerError" });
    expect(failure()).toBe("InternalError webhook failed");
  });

  test.for(["Conflict", "TooManyRequests", "Network", "Unauthorized", "NotFound"] as const)(
    "with %s is reported only once it has repeated for 30 s",
    async (code) => {
      const { failure, clock, reconcile } = await setup(wanted, () => refusal(code));
      await expect(reconcile()).rejects.toMatchObject({ code });
      clock.advance(29_999);
      await expect(reconcile()).rejects.toMatchObject({ code });
      expect(failure()).toBeUndefined();
      clock.advance(1);
      await expect(reconcile()).rejects.toMatchObject({ code });
      expect(failure()).toBe(`${code} refused: ${code}`);
    },
  );

  test("is never reported without the Lease", async () => {
    const { failures, clock, reconcile } = await setup(wanted, () => refusal("Fenced"));
    for (let tries = 0; tries < 3; tries += 1) {
      await expect(reconcile()).rejects.toMatchObject({ code: "Fenced" });
      clock.advance(30_000);
    }
    expect(failures.size).toBe(0);
  });

  test("is thrown as it is if it is a bug", async () => {
    const { failures, reconcile } = await setup(wanted, () => new TypeError("bug"));
    await expect(reconcile()).rejects.toThrow(new TypeError("bug"));
    expect(failures.size).toBe(0);
  });
});
