import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import {
  type AgentFixture,
  newSource,
  type Offered,
  secretPath,
  tenantUser,
} from "../support/agent-fixture.ts";
import { get, mergePatch, post } from "../support/cluster-connection.ts";
import { kubeconfigFor } from "../support/control-plane-handle.ts";
import { eventually } from "../support/eventually.ts";
import { repository } from "../support/install.ts";
import { unique } from "../support/policy-request.ts";
import { runInProcess } from "../support/run-cli.ts";

/** What people in a connected cluster see of a mistake: a row of docs/troubleshooting.md. */
type Row = readonly [events: string, why: string, tenant: string];

const page = readFileSync(join(repository, "docs", "troubleshooting.md"), "utf8");
const table = page.split("## In a connected cluster")[1]?.split("\n## ")[0] ?? "";
const rows: ReadonlyMap<string, Row> = new Map(
  [...table.matchAll(/^\| ([^|`]+?) +\| (.*?) *\| (.+?) +\| (.+?) +\|$/gm)]
    .filter(([, title = ""]) => !/^mistake$|^-+$/.test(title))
    .map(([, title = "", events = "", why = "", asTenant = ""]) => [
      title,
      [events, why, asTenant].map((cell) => cell.replaceAll("`", "")) as unknown as Row,
    ]),
);

/** A namespace of the connected cluster, and what the central cluster offers to its project. */
interface Place {
  readonly namespace: string;
  readonly project: string;
  readonly source: Offered;
}

/** How a namespace, and what is in it, differ from those of a copy that arrives. */
interface Mistake {
  readonly labels?: (project: string) => Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly isOffered?: false;
  readonly before?: (fixture: AgentFixture, place: Place) => Promise<unknown>;
  readonly after?: (fixture: AgentFixture, place: Place) => Promise<unknown>;
}

function secretOf(
  { namespace, source: { name } }: Place,
  marks: Readonly<Record<string, Readonly<Record<string, string>>>> = {},
) {
  return post(secretPath({ namespace }), { metadata: { name, ...marks } });
}

const quota = (namespace: string) =>
  post(`/api/v1/namespaces/${namespace}/resourcequotas`, {
    metadata: { name: "objects" },
    spec: { hard: { "count/secrets": "0" } },
  });

const mistakes: Readonly<Record<string, Mistake>> = {
  "Nothing is wrong": {},
  "The central cluster offers nothing": { isOffered: false },
  "The namespace does not ask for copies": { annotations: {} },
  "The annotation of the namespace is written as a label": {
    labels: (project) => ({ [labels.project]: project, [annotations.sync]: "enabled" }),
    annotations: {},
  },
  "The namespace has no project label": { labels: () => ({}) },
  "The namespace belongs to another project": { labels: () => ({ [labels.project]: "other" }) },
  "The namespace accepts copies from other namespaces only": {
    annotations: { [annotations.sync]: "enabled", [annotations.syncFrom]: "other" },
  },
  "Another Secret has the name of the copy": {
    before: ({ east }, place) => east.arrange(secretOf(place)),
  },
  "A placeholder has a label with a typing mistake": {
    annotations: {},
    before: ({ east }, place) =>
      east.arrange(secretOf(place, { labels: { "management.service/sharedsecret": "db" } })),
  },
  "A placeholder asks for what is not offered": {
    annotations: {},
    before: ({ east }, place) =>
      east.arrange(
        secretOf(place, {
          labels: { [labels.sharedSecretName]: "other", [labels.sharedSecretNamespace]: "team-a" },
        }),
      ),
  },
  "A quota of the namespace is used up": {
    before: ({ east }, { namespace }) => east.arrange(quota(namespace)),
  },
  "Sync is paused on the copy": {
    async after(fixture, { namespace, source: { name } }) {
      await fixture.arrives({ namespace, name }, { password: "canary" });
      const path = secretPath({ namespace, name });
      const marks = { [annotations.disableSync]: "true" };
      await fixture.east.arrange(mergePatch(path, { metadata: { annotations: marks } }));
    },
  },
};

async function makePlace(fixture: AgentFixture, mistake: Mistake): Promise<Place> {
  const [namespace, project, source] = [unique("target"), unique("project"), newSource()];
  const place = { namespace, project, source };
  const { labels: labelsOf = () => ({ [labels.project]: project }) } = mistake;
  const { annotations: marks = { [annotations.sync]: "enabled" } } = mistake;
  await fixture.east.arrange(
    post("/api/v1/namespaces", {
      metadata: { name: namespace, labels: labelsOf(project), annotations: marks },
    }),
  );
  await mistake.before?.(fixture, place);
  const binding = {
    metadata: { name: "edit" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: tenantUser }],
  };
  await fixture.east.arrange(
    post(`/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`, binding),
  );
  if (mistake.isOffered !== false)
    await fixture.offer(source, { project, data: { password: "canary" } });
  await mistake.after?.(fixture, place);
  return place;
}

/** The tests of the client of people who use a connected cluster. */
export function describeClient(given: () => AgentFixture): void {
  const latchkey = (args: readonly string[], user = "admin") =>
    runInProcess(args, { KUBECONFIG: kubeconfigFor(given().east.controlPlane, user) });

  /** The Warning Events in the namespace. */
  const eventsCell = async ({ namespace }: Place): Promise<string> => {
    const places = [namespace, "default"];
    const lists = await Promise.all(
      places.map((place) =>
        given().east.arrange(get(`/apis/events.k8s.io/v1/namespaces/${place}/events`)),
      ),
    );
    const found = lists
      .flatMap((events) => listAt(events, "items"))
      .filter((event) => stringAt(event, "type") === "Warning")
      .flatMap((event) => {
        const { kind, name, namespace: place } = recordAt(event, "regarding");
        const isOurs = place === namespace || (kind === "Namespace" && name === namespace);
        return isOurs ? [`${String(kind)} ${stringAt(event, "reason")}`] : [];
      });
    return [...new Set(found)].toSorted().join(", ");
  };

  const whyCell = async ({ namespace, source }: Place, user?: string): Promise<string> => {
    const args = ["why", `secret/${source.name}`, "-n", namespace, "-o", "json"];
    const { stdout, stderr } = await latchkey(args, user);
    if (stdout === "") throw new Error(stderr);
    expect(stdout).not.toMatch(/canary|config\/default/);
    const items = listAt(JSON.parse(stdout), "items");
    const shown = items
      .map((item) => stringAt(item, "reason"))
      .filter((reason) => reason !== "Forbidden");
    return [...new Set(shown)].join(", ");
  };

  it("docs/troubleshooting.md has a row for each mistake", () => {
    expect([...rows.keys()]).toEqual(Object.keys(mistakes));
  });

  describe.concurrent("docs/troubleshooting.md has what people see when", () => {
    it.for(Object.entries(mistakes))("%s", async ([title, mistake]) => {
      const place = await makePlace(given(), mistake);
      const row = async (): Promise<Row> => [
        await eventsCell(place),
        await whyCell(place),
        await whyCell(place, tenantUser),
      ];
      await eventually(
        async () => {
          expect(await row()).toEqual(rows.get(title));
          return true;
        },
        { what: `the row of ${title}` },
      );
    });
  });

  it("why tells of a SharedSecret by its copies, and where to ask if there is none", async () => {
    const { namespace, source } = await makePlace(given(), {});
    await given().arrives({ namespace, name: source.name }, { password: "canary" });
    const why = await latchkey(["why", `shsec/${source.name}`, "-n", "team-a"]);
    expect(why.stdout).toContain(`is a copy of SharedSecret "team-a/${source.name}"`);
    const none = await latchkey(["why", "shsec/none", "-n", "team-a"]);
    expect(none).toMatchObject({
      code: 4,
      stderr: expect.stringContaining("ask in the central one: kubectl latchkey why shsec/none"),
    });
  });

  it("list and status show the copies, also to a tenant in its own namespace", async () => {
    const { namespace, source } = await makePlace(given(), {});
    await given().arrives({ namespace, name: source.name }, { password: "canary" });
    for (const user of ["admin", tenantUser]) {
      const listed = await latchkey(["list", "-n", namespace], user);
      expect(listed.stdout).toMatch(new RegExp(`team-a/${source.name} +${namespace}/`));
      const status = await latchkey(["status", "-n", namespace], user);
      expect(status.stdout).toContain("1 of 1 copies here are current");
      expect(`${listed.stdout}${status.stdout}`).not.toContain("canary");
    }
  });

  it("check says what the agent needs, and nothing of a central cluster", async () => {
    const checked = await latchkey(["check", "-o", "json"]);
    const reasons = listAt(JSON.parse(checked.stdout), "items").map((item) => [
      stringAt(recordAt(item, "object"), "name"),
      stringAt(item, "reason"),
    ]);
    expect(reasons).toEqual(
      expect.arrayContaining([
        ["latchkey-cluster-agent", "Leading"],
        ["latchkey-project-assignment", "Found"],
        ["latchkey-own-secrets", "Found"],
      ]),
    );
    expect(checked.stdout).not.toMatch(/config\/default|SharedSecrets?"|latchkey controller/);
  });
}
