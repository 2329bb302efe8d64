import { describe, expect, test } from "vitest";
import { answeringCluster, type FakeAnswer, refusal, runCommand } from "../run-command.ts";

/** Runs a command line on a cluster that answers as a function says. */
async function run(line: string, answer: Parameters<typeof answeringCluster>[0]) {
  const { cluster, requests } = answeringCluster(answer);
  const [command = "", rest = ""] = line.split(": ");
  const args = rest.split(" ");
  const ended = await runCommand({ command, args, connect: async () => cluster });
  const sent = requests.map(({ method, path }) => {
    const url = new URL(path, "https://cluster.example");
    return `${method} ${url.pathname.split("/").slice(4).join("/")}${url.search}`;
  });
  return { ...ended, sent };
}

const gone = refusal(404, "NotFound", "not found");
const hidden = refusal(403, "Forbidden", "forbidden");
const deleting =
  (afterwards: FakeAnswer) =>
  ({ method }: { readonly method: string }): FakeAnswer =>
    method === "GET" ? afterwards : [200, {}];

describe.each([
  ["delete", "SharedSecret", "namespaces/team-a/sharedsecrets", "team-a/"],
  ["keys delete", "OwnedAccessKey", "ownedaccesskeys", ""],
  ["token delete", "DirectClusterEndpointToken", "directclusterendpointtokens", ""],
])("%s", (command, kind, path, place) => {
  test("deletes all objects, then waits until they are gone", async () => {
    expect(await run(`${command}: a b`, deleting(gone))).toEqual({
      code: 0,
      stdout: `${kind.toLowerCase()}/a deleted\n${kind.toLowerCase()}/b deleted\n`,
      stderr: "",
      sent: [`DELETE ${path}/a`, `DELETE ${path}/b`, `GET ${path}/a`, `GET ${path}/b`],
    });
  });

  test("does not say that an object is gone which it may not read", async () => {
    expect((await run(`${command}: a`, deleting(hidden))).stderr).toBe(
      `${kind} "${place}a" is being deleted, and you may not read it any more\n`,
    );
  });

  test("says what holds an object that stays", async () => {
    const { code, stderr } = await run(`${command}: a`, deleting([200, {}]));
    expect([code, stderr]).toEqual([0, expect.stringContaining("longer than 60 s; look at its")]);
  });

  test("waits for nothing in a dry run", async () => {
    const { stdout, sent } = await run(`${command}: a --dry-run=server`, deleting(gone));
    expect([stdout, sent]).toEqual([
      `${kind.toLowerCase()}/a deleted (server dry run)\n`,
      [`DELETE ${path}/a?dryRun=All`],
    ]);
  });
});

describe("token describe", () => {
  const object = {
    metadata: {
      name: "job",
      uid: "u",
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
      annotations: {
        "management.service/requester": "bob",
        "management.service/audience-cluster": "east\u001b[2J",
      },
    },
    spec: { ttl: 900, scope: { clusters: [{ cluster: "east" }] } },
    status: {
      token: "eyJ.canary.token",
      expiresAt: "2026-01-01T00:15:00Z",
      keyID: "k1",
      conditions: [
        { type: "Ready", status: "True", reason: "Minted", message: "ok", lastTransitionTime: "t" },
      ],
    },
  };

  test("prints for whom, where and how long, and no token", async () => {
    const { stdout } = await run("token describe: job", () => [200, object]);
    expect(stdout.split("\n")).toEqual([
      "Name:         job",
      "Cluster:      east\u{fffd}[2J",
      "Requester:    bob",
      'Scope:        {"clusters":[{"cluster":"east"}]}',
      "Created:      2026-01-01T00:00:00Z",
      "Expires:      15m after its creation, at 2026-01-01T00:15:00Z",
      "Signing key:  k1",
      "Ready:        True, Minted: ok",
      "",
    ]);
  });

  test.each(["json", "yaml"])("prints no token as %s", async (output) => {
    const { stdout } = await run(`token describe: job -o ${output}`, () => [200, object]);
    expect(stdout).toContain("expiresAt");
    expect(stdout).not.toContain("canary");
  });
});
