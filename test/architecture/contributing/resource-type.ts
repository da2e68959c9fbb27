/** A type of resource: the motto of a machine. */
import { changelog, create, insert, together, type Places } from "./change.ts";

const index = "lib/state/resources/index.ts";

const type = `/**
 * The motto of the machine: one line in \`/etc/motto\`.
 *
 * Never touches what is shown to somebody who signs in.
 *
 * @example
 * \`\`\`yaml
 * - { type: motto, text: Look before you change. }
 * \`\`\`
 */
import { z } from "zod";
import type { Host } from "../../host/host.ts";
import { defineResourceType } from "../resource-type.ts";
import { describeChange } from "./shared/describe.ts";
import { readText, writeText } from "./shared/text-file.ts";

const path = "/etc/motto";

const mottoSchema = z.strictObject({
  /** Null = there is none, which is also what is come back to where there was none before. */
  text: z
    .string()
    .max(200)
    .regex(/^[^\\n]*$/, "one line")
    .nullable(),
});

export const mottoResourceType = defineResourceType<z.infer<typeof mottoSchema>>({
  type: "motto",
  summary: "The motto of the machine.",
  schema: mottoSchema,
  namespace: "path",
  identity: () => path,
  paths: () => [path],
  check({ text }, host) {
    const before = motto(host);
    return before === text ? [] : [{ property: "text", before, after: text }];
  },
  apply({ text }, _changes, host, signal) {
    signal.throwIfAborted();
    if (text === null) host.files.removeFile(path);
    else writeText(path, \`\${text}\\n\`, host);
  },
  capture: (_spec, host) => ({ type: "motto", spec: { text: motto(host) } }),
  describe: describeChange,
});

function motto(host: Host): string | null {
  return readText(path, host)?.trimEnd() ?? null;
}
`;

const test = `import type { Host } from "../../../lib/host/host.ts";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import { lawFolder } from "../../../lib/testing/resource-laws.ts";
import { describeLaws, text } from "../../support/laws.ts";

const createHost = (): Host => {
  const host = new MemoryHost({});
  host.files.makeDirectory(lawFolder, {});
  host.files.makeDirectory("/etc", {});
  return host;
};

describeLaws(
  {
    "the first motto of a machine": {
      definition: { type: "motto", text: "Look before you change." },
      breakIt: ({ files }) => files.writeFile("/etc/motto", text("Change.\\n"), {}),
      observe: ({ files }) => (files.stat("/etc/motto") ? [...files.readFile("/etc/motto")] : "none"),
    },
  },
  { "in memory": createHost },
);
`;

const page = `# motto

The motto of the machine, one line in \`/etc/motto\`. It never touches what is shown to somebody who signs in.

\`\`\`yaml
- { type: motto, text: Look before you change. }
\`\`\`

| Property | Meaning                                                  | Default  |
| -------- | -------------------------------------------------------- | -------- |
| \`text\`   | one line, 200 characters at most; \`null\` = there is none | required |

When the resource is not desired any more, the line becomes what it was.
`;

export const resourceType: Places = {
  Type: create("lib/state/resources/motto.ts", type),
  Row: together(
    insert(index, "import { mountResourceType }", 'import { mottoResourceType } from "./motto.ts";\n'),
    insert(index, "  mountResourceType,\n", "  mottoResourceType,\n"),
  ),
  Test: create("test/state/resources/motto.test.ts", test),
  Page: create("docs/resources/motto.md", page),
  Line: insert("docs/resources.md", "- [mount](", "- [motto](resources/motto.md)\n"),
  Changelog: changelog("`motto` is a type of resource: the motto of a machine."),
};
