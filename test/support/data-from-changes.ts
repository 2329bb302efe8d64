import fc from "fast-check";
import { annotations } from "../../src/api/names.ts";

/** What decides who gets the data of the Secret that a SharedSecret follows. */
export interface Sharing {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** A change of a SharedSecret, and whether it gives the data of the Secret to more than before. */
export interface SharingChange {
  readonly what: string;
  readonly before: Sharing | undefined;
  readonly after: Sharing;
  readonly gives: boolean;
}

/** The Secret that is followed before the change. */
export const followed = "followed";

const { dataFrom, dataFromKeys, syncToClusters, syncToProjects } = annotations;
const from = { [dataFrom]: followed };
const rule = (verbs: readonly string[], rest: object = {}) => ({ verbs, users: ["ann"], ...rest });
const shares = (...access: readonly object[]): Sharing => ({ annotations: from, spec: { access } });
const owned = (owner: object): Sharing => ({ annotations: from, spec: { owner } });
const set = (given: Sharing["annotations"], spec: object = {}): Sharing => ({
  annotations: { ...from, ...given },
  spec: { ...spec },
});
const names = (count: number, prefix = "u") =>
  Array.from({ length: count }, (_, at) => `${prefix}${at}`);
const read = ["get", "list", "watch"];
const account = "system:serviceaccount:team:ci";
const longest = `system:serviceaccount:${"n".repeat(63)}:${"a".repeat(253)}`;

type Row = readonly [what: string, before: Sharing | undefined, after: Sharing];

const giving: readonly Row[] = [
  ["a new SharedSecret that names nobody", undefined, set({})],
  ["the annotation", { annotations: {}, spec: {} }, set({})],
  ["another Secret", set({}), { annotations: { [dataFrom]: "other" }, spec: {} }],
  ["keys", set({}), set({ [dataFromKeys]: "a" })],
  ["fewer keys", set({ [dataFromKeys]: "a,b" }), set({ [dataFromKeys]: "a" })],
  ["all keys instead of some", set({ [dataFromKeys]: "a" }), set({})],
  ["no keys", set({ [dataFromKeys]: "a" }), set({ [dataFromKeys]: "" })],
  ["a first rule", set({}), shares(rule(["get"]))],
  ["another rule", shares(rule(["get"])), shares(rule(["get"]), rule(["get"], { users: ["eve"] }))],
  ["another user", shares(rule(["get"])), shares(rule(["get"], { users: ["ann", "eve"] }))],
  ["a user instead of another", shares(rule(["get"])), shares(rule(["get"], { users: ["eve"] }))],
  ["everybody", shares(rule(["get"])), shares(rule(["get"], { users: ["*"] }))],
  ["a team", shares(rule(["get"])), shares(rule(["get"], { teams: ["ops"] }))],
  ["a team named like a user", shares(rule(["get"])), shares({ verbs: ["get"], teams: ["ann"] })],
  ["another verb", shares(rule(["get"])), shares(rule(["get", "list"]))],
  ["every verb", shares(rule(["get"])), shares(rule(["*"]))],
  ["a subresource", shares(rule(["get"])), shares(rule(["get"], { subresources: ["status"] }))],
  [
    "a verb of one rule for the user of another",
    shares(rule(["get"]), rule(["list"], { users: ["eve"] })),
    shares(rule(["get", "list"])),
  ],
  ["every verb by name", shares(rule([...read, "update", "patch", "delete"])), shares(rule(["*"]))],
  ["a rule without a verb that rejected it", shares(rule(["get", "fly"])), shares(rule(["get"]))],
  [
    "a rule without a user that rejected it",
    shares(rule(["get"], { users: ["", "ann"] })),
    shares(rule(["get"])),
  ],
  [
    "a rule without a system user that rejected it",
    shares(rule(["get"], { users: ["system:admin", "ann"] })),
    shares(rule(["get"])),
  ],
  [
    "a rule without a service account that rejected it",
    shares(rule(["get"], { users: [`${account}:b`, "ann"] })),
    shares(rule(["get"])),
  ],
  [
    "a rule without a service account that is too long",
    shares(rule(["get"], { users: [`${longest}a`, "ann"] })),
    shares(rule(["get"])),
  ],
  [
    "a rule without a team that rejected it",
    shares(rule(["get"], { teams: ["system:masters"] })),
    shares(rule(["get"])),
  ],
  [
    "a rule without a subresource that rejected it",
    shares(rule(["get"], { subresources: ["scale"] })),
    shares(rule(["get"])),
  ],
  [
    "one rule less of 65",
    shares(...names(65).map((user) => rule(["get"], { users: [user] }))),
    shares(...names(64).map((user) => rule(["get"], { users: [user] }))),
  ],
  [
    "one user less of 512",
    shares(rule(["get"], { users: names(512) })),
    shares(rule(["get"], { users: names(511) })),
  ],
  ["an owner", set({}), owned({ user: "ann" })],
  ["another owner", owned({ user: "ann" }), owned({ user: "eve" })],
  ["a team that also owns it", owned({ user: "ann" }), owned({ user: "ann", team: "ops" })],
  ["a team that owns it instead", owned({ user: "ann" }), owned({ team: "ops" })],
  [
    "an owner without a user that rejected it",
    owned({ user: "", team: "a" }),
    owned({ team: "a" }),
  ],
  [
    "an owner without a team that rejected it",
    owned({ user: "ann", team: "system:masters" }),
    owned({ user: "ann" }),
  ],
  ["a first project", set({}), set({ [syncToProjects]: "web" })],
  ["another project", set({ [syncToProjects]: "web" }), set({ [syncToProjects]: "web,pay" })],
  ["a project of a glob", set({ [syncToProjects]: "web-*" }), set({ [syncToProjects]: "web-a" })],
  ["every project", set({ [syncToProjects]: "web,pay" }), set({ [syncToProjects]: "*" })],
  ["a cluster", set({}), set({ [syncToClusters]: "east" })],
  ["another cluster", set({ [syncToClusters]: "east" }), set({ [syncToClusters]: "east,west" })],
  ["every cluster", set({ [syncToClusters]: "east,west" }), set({ [syncToClusters]: "*" })],
  ["a cluster as a project", set({ [syncToClusters]: "a" }), set({ [syncToProjects]: "a" })],
  ["another target", set({}), set({ [annotations.syncSecretName]: "other" })],
  ["the usual target", set({ [annotations.syncSecretName]: "other" }), set({})],
  ["an empty name of the target", set({}), set({ [annotations.syncSecretName]: "" })],
  ["a format", set({}), set({ [annotations.syncFormat]: "json" })],
  ["a label of copies", set({}), set({ [annotations.copyLabels]: "a=b" })],
  ["no label of copies", set({ [annotations.copyLabels]: "a=b" }), set({})],
  ["an unknown sync- annotation", set({}), set({ "management.service/sync-new": "a" })],
  [
    "a user less and a project more",
    set({}, { access: [rule(["get"], { users: ["ann", "eve"] })] }),
    set({ [syncToProjects]: "web" }, { access: [rule(["get"])] }),
  ],
];

const takingAway: readonly Row[] = [
  ["the annotation", set({}), { annotations: {}, spec: {} }],
  [
    "the annotation, while another user is added",
    shares(rule(["get"])),
    { annotations: {}, spec: { access: [rule(["get"], { users: ["eve"] })] } },
  ],
  ["nothing", shares(rule(["get"])), shares(rule(["get"]))],
  ["nothing, of a rejected rule", shares(rule(["fly"])), shares(rule(["fly"]))],
  [
    "the pause",
    set({ [annotations.disableSync]: "true" }),
    set({ [annotations.refreshNow]: "1", "example.com/sync-a": "b" }),
  ],
  ["a description", set({}, { description: "a" }), set({}, { description: "b" })],
  ["a rule", shares(rule(["get"]), rule(["get"], { users: ["eve"] })), shares(rule(["get"]))],
  ["all rules", shares(rule(["get"])), set({})],
  ["a rejected rule", shares(rule(["fly"]), rule(["get"])), shares(rule(["get"]))],
  ["a user", shares(rule(["get"], { users: ["ann", "eve"] })), shares(rule(["get"]))],
  ["a service account", shares(rule(["get"], { users: [account, "ann"] })), shares(rule(["get"]))],
  ["the longest one", shares(rule(["get"], { users: [longest, "ann"] })), shares(rule(["get"]))],
  ["a team", shares(rule(["get"], { teams: ["ops"] })), shares(rule(["get"]))],
  [
    "a user, beside a rejected rule",
    shares(rule(["fly"]), rule(["get"], { users: ["ann", "eve"] })),
    shares(rule(["fly"]), rule(["get"])),
  ],
  ["all users", shares(rule(["get"])), shares({ verbs: ["get"] })],
  ["a verb", shares(rule(read)), shares(rule(["get"]))],
  ["all verbs but one", shares(rule(["*"])), shares(rule(["get"]))],
  ["everybody but one", shares(rule(["get"], { users: ["*"] })), shares(rule(["get"]))],
  [
    "all teams but one",
    shares({ verbs: ["get"], teams: ["*"] }),
    shares({ verbs: ["get"], teams: ["ops"] }),
  ],
  ["a subresource", shares(rule(["get"], { subresources: ["status"] })), shares(rule(["get"]))],
  [
    "one of all subresources",
    shares(rule(["get"], { subresources: ["*"] })),
    shares(rule(["get"], { subresources: ["status"] })),
  ],
  ["the name of a rule", shares(rule(["get"], { name: "a" })), shares(rule(["get"]))],
  [
    "the order of rules",
    shares(rule(["get"]), rule(read, { users: ["eve"] })),
    shares(rule(read, { users: ["eve"] }), rule(["get"])),
  ],
  [
    "a part of a rule, which is split",
    shares(rule(read, { users: ["ann", "eve"] })),
    shares(rule(["get"]), rule(["list"], { users: ["eve"] })),
  ],
  [
    "one rule of 64",
    shares(...names(64).map((user) => rule(["get"], { users: [user] }))),
    shares(...names(63).map((user) => rule(["get"], { users: [user] }))),
  ],
  [
    "one user of 511",
    shares(rule(["get"], { users: names(511) })),
    shares(rule(["get"], { users: names(510) })),
  ],
  ["an owner", owned({ user: "ann" }), set({})],
  ["a user that owns it beside a team", owned({ user: "ann", team: "a" }), owned({ team: "a" })],
  ["a team that owns it beside a user", owned({ user: "ann", team: "a" }), owned({ user: "ann" })],
  ["a rejected owner", owned({ user: "system:admin" }), set({})],
  ["an unknown field of the owner", owned({ user: "ann", usr: "a" }), owned({ user: "ann" })],
  ["a project", set({ [syncToProjects]: "web, pay" }), set({ [syncToProjects]: "pay" })],
  ["all projects", set({ [syncToProjects]: "web, pay" }), set({})],
  ["projects by an empty list", set({ [syncToProjects]: "web" }), set({ [syncToProjects]: "" })],
  [
    "the order of projects",
    set({ [syncToProjects]: "web,*,pay" }),
    set({ [syncToProjects]: " *\npay,pay " }),
  ],
  ["a cluster", set({ [syncToClusters]: "east, west" }), set({ [syncToClusters]: "west" })],
  ["all clusters", set({ [syncToClusters]: "*" }), set({})],
  [
    "users, rules, the owner, projects and clusters at once",
    set(
      { [syncToProjects]: "web,pay", [syncToClusters]: "east" },
      { owner: { user: "ann" }, access: [rule(read, { users: ["ann", "eve"] }), rule(["get"])] },
    ),
    set({ [syncToProjects]: "web" }, { access: [rule(read, { users: ["ann"] })] }),
  ],
];

/** Changes that give the data to more than before, and changes that only take away. */
export const sharingChanges: readonly SharingChange[] = [
  ...giving.map(([what, before, after]) => ({ what, before, after, gives: true })),
  ...takingAway.map(([what, before, after]) => ({ what, before, after, gives: false })),
];

const subset = (...items: readonly string[]) => fc.subarray([...items]);
const some = (...items: readonly string[]) => fc.subarray([...items], { minLength: 1 });
const rules = fc.record(
  {
    verbs: fc.oneof(
      { weight: 8, arbitrary: some("get", "list", "delete") },
      { weight: 2, arbitrary: some("*", "get", "fly") },
    ),
    users: fc.oneof(
      { weight: 8, arbitrary: subset("ann", "eve", "*", account) },
      { weight: 1, arbitrary: subset("", "ann", "system:admin", "eve") },
    ),
    teams: fc.oneof(
      { weight: 8, arbitrary: subset("ops", "*", "dev") },
      { weight: 1, arbitrary: subset("ops", "", "system:masters") },
    ),
    subresources: subset("status", "*"),
    name: fc.constantFrom("a", "b"),
  },
  { requiredKeys: ["verbs"] },
);
const owners = fc.record(
  {
    user: fc.constantFrom("ann", "eve", "*", "ann", "", "system:admin"),
    team: fc.constantFrom("ops", "dev", "ops", "", "system:masters"),
    usr: fc.constantFrom("a", "b"),
  },
  { requiredKeys: [] },
);
const listOf = (...entries: readonly string[]) =>
  fc
    .tuple(subset(...entries), fc.constantFrom(",", ", ", "\n", ",,"))
    .map(([items, separator]) => items.join(separator));

/** States of a SharedSecret with few different names, so that changes of them often only take away. */
export const sharings: fc.Arbitrary<Sharing> = fc.record({
  annotations: fc.record(
    {
      [dataFrom]: fc.constant(followed),
      [dataFromKeys]: fc.constantFrom("a", "a", "b"),
      [syncToProjects]: listOf("web", "pay", "*", "w*"),
      [syncToClusters]: fc.oneof(listOf("east", "west"), fc.constantFrom("*", "east,*")),
      [annotations.copyLabels]: fc.constantFrom("a=b", "a=b", "a=c"),
    },
    { requiredKeys: [dataFrom] },
  ),
  spec: fc.record(
    { access: fc.array(rules, { maxLength: 3 }), owner: owners },
    { requiredKeys: [] },
  ),
});

/** A state, and one that is near it: one of its parts is another one's. */
export const nearChanges: fc.Arbitrary<readonly [Sharing, Sharing]> = fc
  .tuple(sharings, sharings, fc.integer({ min: 0, max: 4 }), fc.infiniteStream(fc.boolean()))
  .map(([before, other, part, keep]): readonly [Sharing, Sharing] => {
    const spec = { ...before.spec };
    if (part === 0) return [before, other];
    if (part === 1) return [before, { ...before, annotations: other.annotations }];
    if (part === 2) spec["owner"] = other.spec["owner"] ?? {};
    // Some entries of all lists are taken out.
    const kept = (value: unknown): unknown => {
      if (!Array.isArray(value)) return value;
      return value.filter(() => keep.next().value).map((entry: unknown) => narrowed(entry, kept));
    };
    if (part > 2) spec["access"] = kept(spec["access"] ?? []);
    return [before, { annotations: before.annotations, spec }];
  });

function narrowed(entry: unknown, kept: (value: unknown) => unknown): unknown {
  return typeof entry === "object" && entry !== null
    ? Object.fromEntries(Object.entries(entry).map(([field, value]) => [field, kept(value)]))
    : entry;
}
