/** The words of a text. */
export function words(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

/** Prefixes of resource paths. */
export const roots = words("/api/v1 /api/v1 /apis/apps/v1 /apis/management.service/v1 /apis/a.b/c");

/** Resources, some of which the API server treats in a special way. */
export const resources = words("pods secrets nodes services sharedsecrets namespaces x");

/** Names, some of which have a special meaning elsewhere in a path. */
export const names = words("p a-b.c watch proxy namespaces status finalize a%20b %C3%BC");

/** Subresources. */
export const subresources = words("status log exec proxy portforward finalize watch scale");

/** Steps of any path. */
export const steps = [
  ...resources,
  ...names,
  ...subresources,
  ...words("api apis v1 apps ~ a+b *"),
];

/** Texts that are invalid in a path or change its meaning. */
export const fragments = [
  ...words(`
    // / /./ /../ . .. /.../ % %2 %zz %2e %2E%2e %2f %2F %5c %00 %0a %7f %25 %252e %20 %61 %c3%bc
    %c0%af %ed%a0%80 %ff %E2%80%8B ü ; # \\ + : @ http://x & = ~ /watch /proxy /namespaces
    /namespaces/ /api/v1 ? * A
  `),
  ...[" ", "\t", "\u0000"],
];

/** Terms of field selectors, valid and not. */
export const fieldTerms = [
  ...words(`
    metadata.name=p metadata.name==p metadata.name!=p metadata.name= metadata.name
    status.phase=Running spec.nodeName!=n metadata.name=a\\,b metadata.name=a\\=b metadata.name=a=b
    metadata.name=a\\ metadata.name=a\\x metadata.name=.. = a== metadata.name=a/b metadata.name=a%b
    != \\ metadata.name=. metadata.name=ü metadata.namespace=n a!=b=c metadata.name=p;
  `),
  ...[" metadata.name=p", "metadata.name =p", "", "metadata.name=p "],
];

/** Terms of label selectors, valid and not. */
export const labelTerms = [
  ...words(`
    app=web app==web app!=web app !app x/y=z app>1 =x app=- ! A/b a-/b a..b/c a=ü ü=a app= x/ /y
    notin app,,b
  `),
  ...["app in (a,b)", "app notin (a)", "app in ()", "app in (a,b", "app gt 1", "a b c", ""],
  ...[" app = web ", "app\tin (a)", "app in (a, b)", "in in (in)", "app in(a)", "a.b/c in (d)"],
  ...[`${"a".repeat(63)}=x`, `${"a".repeat(64)}=x`, `${"a".repeat(63)}.b/c`],
  ...[`a=${"b".repeat(64)}`, `${"a.".repeat(126)}a/b`, `${"a.".repeat(126)}aa/b`],
];

/** Values of options that are true or false. */
export const values = ["", ...words("1 0 true false FALSE True x -1 5 500 1.5 +5")];

/** Values of options that are numbers. */
export const counts = ["", ...words("1 500 0 -1 x 007 99999999999999999999 +5 0x10 1_0")];
