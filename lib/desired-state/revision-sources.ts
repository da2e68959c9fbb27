/**
 * Which modules an agent gets, in which revisions. A call decides for the modules that it names; else what an earlier call named for
 * the agent comes before the assignments, and what is pinned by nobody is the newest.
 */
import type { AssignmentDocument } from "../assignments/documents.ts";
import { OrchestratorError } from "../errors.ts";
import {
  bringTheSame,
  differentRevisions,
  type ModuleReference,
  namedOf,
  pinOf,
} from "../module-format/module-reference.ts";
import type { DesiredRequest } from "./desired-request.ts";

/** What an assignment brings. */
export type Assignment = Readonly<Pick<AssignmentDocument, "name" | "modules" | "pins" | "params">>;

/** The assignments that bring an agent its modules: that of a rollout as it was when this was asked for, whether or not it is so now. */
export function bringingTo(
  matching: readonly Assignment[],
  { modules, assignment, given }: Pick<DesiredRequest, "modules" | "assignment" | "given">,
): readonly Assignment[] {
  if (!modules || assignment === undefined || !given) return matching;
  const own = { name: assignment, modules: modules.map(({ name }) => name), ...given };
  const others = matching.filter(({ name }) => name !== assignment);
  return [...others, own].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * The modules that are asked for, in their revisions; absent = the newest.
 *
 * @throws {OrchestratorError} `RESOURCE_CONFLICT` where assignments, or a rollout and what a call pinned, bring different revisions.
 */
export function chooseRevisions(
  assignments: readonly Assignment[],
  { modules, assignment, named }: Pick<DesiredRequest, "modules" | "assignment" | "named">,
): ModuleReference[] {
  if (modules && assignment !== undefined) {
    for (const module of modules) requireNoOther(module, { assignments, assignment, named });
    return [...modules];
  }
  if (modules) {
    return modules.map(({ name, revision }) => toReference(name, revision ?? pinnedBy(assignments, name)));
  }
  const names = new Set([...assignments.flatMap((each) => each.modules), ...Object.keys(named ?? {})]);
  return [...names].map((name) =>
    toReference(name, namedOf(named, name)?.revision ?? pinnedBy(assignments, name)),
  );
}

/** The revision that assignments pin a module to; undefined = none does. */
function pinnedBy(assignments: readonly Assignment[], module: string): number | undefined {
  const [first, ...others] = assignments.filter(({ modules }) => modules.includes(module));
  for (const other of others) if (!bringTheSame(module, first!, other)) throw differ(module, first!, other);
  return pinOf(first?.pins, module);
}

/** Refuses a revision of a rollout that somebody else has said otherwise about. */
function requireNoOther(
  { name, revision }: ModuleReference,
  {
    assignments,
    assignment,
    named,
  }: { assignments: readonly Assignment[] } & Pick<DesiredRequest, "assignment" | "named">,
): void {
  const own = assignments.find((each) => each.name === assignment);
  const other = assignments.find(
    (each) => own && each.modules.includes(name) && !bringTheSame(name, own, each),
  );
  if (own?.modules.includes(name) && other) throw differ(name, own, other);
  const pinned = namedOf(named, name)?.revision;
  if (pinned === undefined || pinned === revision) return;
  throw new OrchestratorError("RESOURCE_CONFLICT", {
    message: `Module ${name} is pinned to revision ${pinned} on this agent, by a call that named it; the rollout brings revision ${revision}.`,
    details: { module: name, pinned, revision: revision ?? null },
  });
}

function differ(module: string, first: Assignment, second: Assignment): OrchestratorError {
  return new OrchestratorError("RESOURCE_CONFLICT", {
    message: differentRevisions(module, first, second),
    details: { module, assignments: [first.name, second.name] },
  });
}

function toReference(name: string, revision: number | undefined): ModuleReference {
  return revision === undefined ? { name } : { name, revision };
}
