/** What is believed of a machine, for people. */
import type { BelievedState } from "fleetwright";
import type { TableView } from "./cells.ts";
import { toFacts, toLine, toLines, toTable } from "./text.ts";
import type { Column } from "./text.ts";

/** One resource of it. */
export type BelievedResource = BelievedState["applied"][number];

type BelievedModule = BelievedState["modules"][number];

/**
 * What goes comes first.
 *
 * @param view - Default: everything in full.
 */
export function describeState(name: string, state: BelievedState, view?: TableView): string {
  // A server of before this list says nothing of it.
  const { pending_removals, unapplied, applied, modules = [], error } = state;
  const differing = error ? "" : `${pending_removals.length} to remove, ${unapplied.length} to apply, `;
  return [
    toFacts([
      ["agent", name],
      ["as of", state.as_of ?? "never applied"],
      ["operation", state.operation_id],
      ["resources", `${differing}${applied.length} applied`],
    ]),
    error ? toLines([toLine(`What is desired can't be worked out: ${error.code}: ${error.message}`)]) : "",
    section("To remove, with the next apply:", pending_removals, resourceColumns, view),
    section("To apply:", unapplied, resourceColumns, view),
    section("Applied:", applied, resourceColumns, view),
    section("Modules:", modules, moduleColumns, view),
  ].join("");
}

/** How a resource is named to be forgotten. */
export function nameOf({ module, resource_id }: BelievedResource): string {
  return `${module}/${resource_id}`;
}

function section<Item>(title: string, ...table: Parameters<typeof toTable<Item>>): string {
  return table[0].length === 0 ? "" : toLines(["", title]) + toTable(...table);
}

const resourceColumns: readonly Column<BelievedResource>[] = [
  ["RESOURCE", nameOf],
  ["TYPE", ({ type }) => type],
  ["ON THE MACHINE", ({ identity }) => identity],
];

const moduleColumns: readonly Column<BelievedModule>[] = [
  ["MODULE", ({ name }) => name],
  ["REVISION", ({ revision_applied = "-", leaving }) => `${revision_applied}${leaving ? " (leaving)" : ""}`],
  ["BROUGHT BY", describeBringers],
];

/** Who brings a module, e.g. "all, a call (@3; params port, tls)"; undefined where nobody does. */
function describeBringers({ assignments, named }: BelievedModule): string | undefined {
  const bringers = [...assignments, ...(named ? [describeCall(named)] : [])];
  return bringers.length === 0 ? undefined : bringers.join(", ");
}

function describeCall({ revision, params = [] }: NonNullable<BelievedModule["named"]>): string {
  const given = [
    ...(revision === undefined ? [] : [`@${revision}`]),
    ...(params.length === 0 ? [] : [`params ${params.join(", ")}`]),
  ];
  return given.length === 0 ? "a call" : `a call (${given.join("; ")})`;
}
