import { expect, test } from "vitest";
import { issuerConfig, issuersIn, issuersProblem } from "../../src/authn/issuer-config.ts";
import { rawObject } from "../support/fake-list-watch.ts";

const entryOf = (url: string, audience = "ci"): string =>
  `- issuer: { url: "${url}", audiences: [${audience}] }`;
const text = (...entries: readonly string[]): string =>
  [
    "apiVersion: apiserver.config.k8s.io/v1",
    "kind: AuthenticationConfiguration",
    "jwt:",
    ...entries,
  ].join("\n");
const configMap = (issuers?: string) => ({
  ...rawObject({ name: "latchkey-issuers" }),
  ...(issuers === undefined ? {} : { data: { "issuers.yaml": issuers } }),
});

function parser() {
  const taken = () => ({ audiences: ["https://kubernetes.default.svc"], issuer: undefined });
  const { parse, listOptions, noteChange } = issuerConfig({ namespace: "latchkey-system", taken });
  const storeOf = (raw: unknown) => ({ values: () => [parse(raw)].values() });
  const [one, two] = ["https://one.example", "https://two.example"];
  return { parse, listOptions, noteChange, storeOf, one, two };
}

test("one ConfigMap of Latchkey's namespace is watched", () => {
  expect(parser().listOptions).toMatchObject({
    namespace: "latchkey-system",
    fieldSelector: "metadata.name=latchkey-issuers",
  });
});

test("issuers stay the same objects as long as they say the same", () => {
  const { storeOf, one, two } = parser();
  const first = issuersIn(storeOf(configMap(text(entryOf(one), entryOf(two)))));
  const then = issuersIn(storeOf(configMap(text(entryOf(two, "cd"), entryOf(one)))));
  expect([first.get(one) === then.get(one), first.get(two) === then.get(two)]).toEqual([
    true,
    false,
  ]);
});

test.each<[what: string, issuers: string | undefined, field: string, problem: string]>([
  [
    "with a field that is not honoured",
    text(`${entryOf("https://a.example")}\n  userValidationRules: []`),
    "jwt[0].userValidationRules",
    "is not honoured; remove it",
  ],
  [
    "for service accounts",
    text(entryOf("https://a.example", '"https://kubernetes.default.svc"')),
    "jwt[0].issuer.audiences[0]",
    "is an audience of service accounts; choose one of Latchkey's own",
  ],
  ["that is no YAML", "jwt: [canary", "", "is no YAML"],
  ["with a field twice", `${text(entryOf("https://a.example"))}\nkind: canary`, "", "is no YAML"],
  ["that is no object", "canary", "", "must be an object"],
  ["that is too long", `# ${"a".repeat(262_144)}`, "", "has more than 262144 characters"],
  ["that is missing", undefined, "", "is empty"],
])(
  "a text %s changes nothing, and is said without its values",
  (_what, issuers, field, problem) => {
    const { parse, storeOf, one } = parser();
    const before = parse(configMap(text(entryOf(one)))).issuers;
    const refused = parse(configMap(issuers));
    expect(refused).toMatchObject({ refused: { field, problem } });
    expect(refused.issuers).toBe(before);
    const said = issuersProblem(storeOf(configMap(issuers)));
    expect(said).toContain(`${field === "" ? "issuers.yaml" : field} ${problem}`);
    expect(said).not.toContain("canary");
  },
);

test("at a start, a text that is refused means no issuers", () => {
  expect(issuersIn(parser().storeOf(configMap("canary"))).size).toBe(0);
});

test("the issuers of a ConfigMap that was deleted are forgotten", () => {
  const { parse, noteChange, one } = parser();
  const observed = parse(configMap(text(entryOf(one))));
  noteChange({ after: observed });
  expect(parse(configMap("canary")).issuers.size).toBe(1);
  noteChange({});
  expect(parse(configMap("canary")).issuers.size).toBe(0);
});

test("without the ConfigMap there are no issuers, and nothing is refused", () => {
  const store = { values: () => [][Symbol.iterator]() };
  expect([issuersIn(store).size, issuersProblem(store)]).toEqual([0, undefined]);
});

test("claimMappings are ignored, and named", () => {
  const { parse, one } = parser();
  const raw = configMap(text(`${entryOf(one)}\n  claimMappings: { username: { claim: sub } }`));
  expect(parse(raw)).toMatchObject({ ignored: ["jwt[0].claimMappings"] });
});
