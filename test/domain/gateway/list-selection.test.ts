import { describe, expect, it } from "vitest";
import { nameOfSelection } from "../../../src/domain/gateway/list-selection.ts";
import { parseQuery } from "../../../src/domain/gateway/query.ts";

const nameIn = (query: string) => nameOfSelection(parseQuery(query));

describe("a list or watch asks for", () => {
  it.each([
    ["?fieldSelector=metadata.name=a", "a"],
    ["?fieldSelector=metadata.name%3D%3Da", "a"],
    ["?fieldSelector=spec.nodeName=n,metadata.name=a", "a"],
    ["?fieldSelector=metadata.name=a,", "a"],
    ["?fieldSelector=metadata.name=a%5C,b", "a,b"],
    ["?fieldSelector=metadata.name=a%5C%5C", "a\\"],
    ["?fieldSelector=metadata.name=a%5C%3Db", "a=b"],
    ["?fieldSelector=metadata.name=", ""],
    ["?fieldSelector=metadata.name!=a", ""],
    ["?fieldSelector=metadata.name=a/b", ""],
    ["?fieldSelector=metadata.name=%252e", ""],
    ["?fieldSelector=metadata.name=..", ""],
    ["?fieldSelector=metadata.namespace=a", ""],
    ["?fieldSelector=", ""],
    ["?fieldselector=metadata.name=a", ""],
    ["?labelSelector=metadata.name=a", ""],
    ["", ""],
    ["?fieldSelector=metadata.name=a&limit=500&timeoutSeconds=30", "a"],
    ["?fieldSelector=metadata.name=a&labelSelector=app,!old,tier%20in%20(web,%20db),x.y/z!=1", "a"],
    ["?fieldSelector=metadata.name=a&labelSelector=", "a"],
  ])("%s the object %j", (query, name) => {
    expect(nameIn(query)).toBe(name);
  });

  it.each([
    ["two selectors", "?fieldSelector=metadata.name=a&fieldSelector=metadata.name=a"],
    ["two names", "?fieldSelector=metadata.name=a,metadata.name=b"],
    ["no operator", "?fieldSelector=metadata.name"],
    ["an equals sign in a value", "?fieldSelector=metadata.name=a=b"],
    ["an unknown escape", "?fieldSelector=metadata.name=a%5Cb"],
    ["an escape at the end", "?fieldSelector=metadata.name=a%5C"],
    ["bytes that are not UTF-8", "?fieldSelector=metadata.name=%ff"],
    ["a limit that is no number", "?fieldSelector=metadata.name=a&limit=-1"],
    ["a limit past 2^63", `?fieldSelector=metadata.name=a&limit=${"9".repeat(19)}`],
    ["a timeout that is no number", "?fieldSelector=metadata.name=a&timeoutSeconds=1s"],
    ["a label selector with two operators", "?fieldSelector=metadata.name=a&labelSelector=a==b=c"],
    ["a label that is too long", `?fieldSelector=metadata.name=a&labelSelector=${"a".repeat(64)}`],
    ["a selector of 5,000", `?fieldSelector=metadata.name=a&labelSelector=${"a,".repeat(2_500)}a`],
  ])("what kube-apiserver might read in another way: %s", (_what, query) => {
    expect(nameIn(query)).toMatchObject({ kind: "malformed" });
  });

  it("quotes nothing of the query", () => {
    const read = nameIn("?fieldSelector=canary&labelSelector=canary canary");
    expect(JSON.stringify(read)).not.toContain("canary");
  });

  it("is read in a moment, whatever the selector", () => {
    for (const selector of ["a".repeat(4_000), `${"a.".repeat(2_000)}!`, "a in (".repeat(600)]) {
      const began = performance.now();
      nameIn(`?fieldSelector=metadata.name=a&labelSelector=${encodeURIComponent(selector)}`);
      expect(performance.now() - began).toBeLessThan(200);
    }
  });
});
