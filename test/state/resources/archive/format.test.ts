/** The format of an archive, as the name of its source tells it. */
import { expect, test } from "vitest";
import { formatOf } from "../../../../lib/state/resources/archive/program.ts";

const endings = {
  tar: [".tar"],
  "tar.gz": [".tar.gz", ".tgz"],
  "tar.xz": [".tar.xz", ".txz"],
  zip: [".zip"],
} as const;

const known = Object.entries(endings).flatMap(([format, all]) =>
  all.flatMap((ending) =>
    [
      `/srv/tool${ending}`,
      `/srv/TOOL${ending.toUpperCase()}`,
      `/srv/tool-1.2${ending}`,
      `https://example.com/tool${ending}`,
      `https://example.com/tool${ending}?token=a.zip`,
      `https://example.com/tool${ending}#v1.tar`,
      `https://example.com/tool${ending}?a=1#b`,
    ].map((name) => [name, format] as const),
  ),
);

test.each(known)("the name %s tells the format %s", (name, format) => {
  expect(formatOf(name)).toBe(format);
});

test.each(
  Object.values(endings)
    .flat()
    .flatMap((ending) => [
      `/srv/tool${ending}.bak`,
      `/srv/tool${ending}/x`,
      `/srv/${ending.slice(1)}`,
      `https://example.com/x?file=tool${ending}`,
      `https://example.com/x#tool${ending}`,
    ]),
)("the name %s tells no format", (name) => {
  expect(formatOf(name)).toBeNull();
});
