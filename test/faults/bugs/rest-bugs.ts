import type { Bug } from "./bugs.ts";

const resources = "lib/module-format/module-resources.ts";
const ofResources = ["test/module-format/module-resources.test.ts"];
const mount = "lib/state/resources/mount.ts";
const ofMount = ["test/state/resources/mount/apply.test.ts"];
const ofNames = ["test/module-format/liquid-names.test.ts"];

/** What becomes of a module on one agent, what its templates name, and what becomes of a mount on a machine. */
export const restBugs: readonly Bug[] = [
  {
    name: "a secret that can't be used refuses a module where what needs it is skipped",
    file: resources,
    from: `unusable.find(({ resource }) => skipped[resource] === null)`,
    to: `unusable[0]`,
    tests: ofResources,
  },
  {
    name: "a template without a value refuses a module where its resource is skipped",
    file: resources,
    from: `issues.filter(({ path }) => skipped[path[1] as number] === null)`,
    to: `issues`,
    tests: ofResources,
  },
  {
    name: "what is skipped and has all its values is not marked as skipped",
    file: resources,
    from: `resources.push({ ...resource, skip: "condition" });`,
    to: `resources.push(resolution.ok ? resource : { ...resource, skip: "condition" });`,
    tests: ofResources,
  },
  {
    name: "what no agent can want is judged",
    file: resources,
    from: `    if (when && matchesNobody(when)) continue;\n`,
    tests: ofResources,
  },
  {
    name: "one conflict is told for each thing that the two are about",
    file: resources,
    from: `refuse([...new Map(conflicts.map((conflict) => [conflict.message, conflict])).values()]);`,
    to: `refuse(conflicts);`,
    tests: ofResources,
  },
  {
    name: "what is skipped for want of a value is not as sensitive as a secret makes it",
    file: resources,
    from: `splitDefinition(markMadeSensitive(content, at, content.resources[at]!))`,
    to: `splitDefinition(content.resources[at]!)`,
    tests: ofResources,
  },
  {
    name: "the keys below a property of what is sensitive are told",
    file: resources,
    from: `path: issue.path.slice(0, 3), message`,
    to: `message`,
    tests: ofResources,
  },
  {
    name: "what is wrong with a value stands at the first template of its resource",
    file: resources,
    from: `(templates.find(isOf) ?? templates[0])`,
    to: `templates[0]`,
    tests: ofResources,
  },
  {
    name: "what a module says of its removal is lost on its resources",
    file: resources,
    from: `resolveResource(filled, { module, removal, types })`,
    to: `resolveResource(filled, { module, types })`,
    tests: ofResources,
  },
  {
    name: "a folder that mount(8) is to make is missed",
    file: mount,
    from: `&& !makesFolder && `,
    to: `&& `,
    tests: ofMount,
  },
  {
    name: "the documented spelling of the option that makes the folder is not known",
    file: mount,
    from: `(?:=|$)/i.test`,
    to: `(?:=|$)/.test`,
    tests: ofMount,
  },
  {
    name: "a remount asks for relatime beside another way with times of access",
    file: mount,
    from: `options.some((option) => accessTimes.test(option)) ? []`,
    to: `options.includes("noatime") ? []`,
    tests: ofMount,
  },
  {
    name: "a table that was made for a mount stays where its line is gone already",
    file: mount,
    from: `!changed("fstab", "file")`,
    to: `!changed("fstab")`,
    tests: ofMount,
  },
  {
    name: "a table that was made for a mount goes with the lines of others",
    file: mount,
    from: `spec.remove_empty === true && edited.length === 0`,
    to: `spec.remove_empty === true`,
    tests: ofMount,
  },
  {
    name: "whether it was mounted is noted where the table alone is declared",
    file: mount,
    from: `...(spec.ensure !== "present" && { mounted: live !== null }),`,
    to: `mounted: live !== null,`,
    tests: ofMount,
  },
  {
    name: "what stood comes back with the options that the kernel shows",
    file: mount,
    from: `const source = said ?? (live &&`,
    to: `const source = (live &&`,
    tests: ofMount,
  },
  {
    name: "a line that changes is told as new where it is mounted, too",
    file: mount,
    from: `if (line?.before === null || (!line && mounted?.after === true))`,
    to: `if (line?.before === null || mounted?.after === true)`,
    tests: ofMount,
  },
  {
    name: "what a filter is told by name is taken for no name",
    file: "lib/module-format/liquid/names.ts",
    from: `yield* namesOf(Array.isArray(argument) ? argument[1] : argument)`,
    to: `yield* namesOf(argument)`,
    tests: ofNames,
  },
  {
    name: "a range has no name at its end",
    file: "lib/module-format/liquid/names.ts",
    from: `    yield* namesOf(value.rhs);\n`,
    tests: ofNames,
  },
  {
    name: "what stands in brackets has no names",
    file: "lib/module-format/liquid/names.ts",
    from: `    for (const part of variable === undefined ? props : [variable, ...props]) yield* namesOf(part);\n`,
    tests: ofNames,
  },
  {
    name: "a secret goes through a filter with arguments",
    file: "lib/module-format/liquid/secret-names.ts",
    from: `more.length === 0 && filter.args.length === 0 && Object`,
    to: `more.length === 0 && Object`,
    tests: ofNames,
  },
  {
    name: "a secret goes through two filters",
    file: "lib/module-format/liquid/secret-names.ts",
    from: `more.length === 0 && filter.args`,
    to: `filter.args`,
    tests: ofNames,
  },
  {
    name: "the filter default takes the place of false",
    file: "lib/module-format/liquid/liquid-templates.ts",
    from: `value ?? fallback`,
    to: `value || fallback`,
    tests: ofNames,
  },
  {
    name: "a name behind a value stands for what is called otherwise",
    file: "lib/module-format/liquid/liquid-templates.ts",
    from: `      holder = isHolder(next) ? next : null;\n      if (!holder) break;\n`,
    to: `      if (!isHolder(next)) break;\n      holder = next;\n`,
    tests: ofNames,
  },
];
