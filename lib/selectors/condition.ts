/**
 * Conditions: selectors that know the params of a module, too. With the values of these a condition becomes a selector of
 * agents, which an index can answer.
 */
import { matchesSelector, matchesValue, valueOf, type SelectorTerm } from "./match.ts";
import { allOf, type Selector, type SelectorKey, type SelectorTarget } from "./selector.ts";

/** Values of params as text; undefined where there is none. */
export type ParamTexts = (name: string) => string | undefined;

const everyAgent: Selector = { kind: "all" };
const noAgent: Selector = { kind: "not", operand: everyAgent };

/** The selector of the agents on which a condition holds with these values. */
export function withParams(condition: Selector, params: ParamTexts): Selector {
  switch (condition.kind) {
    case "all":
      return condition;
    case "not": {
      const operand = withParams(condition.operand, params);
      if (matchesNobody(operand)) return everyAgent;
      return operand.kind === "all" ? noAgent : { kind: "not", operand };
    }
    case "and": {
      const operands = condition.operands.map((each) => withParams(each, params));
      return operands.some(matchesNobody) ? noAgent : allOf(operands);
    }
    case "or": {
      const operands = condition.operands
        .map((each) => withParams(each, params))
        .filter((each) => !matchesNobody(each));
      if (operands.some(({ kind }) => kind === "all")) return everyAgent;
      const [first = noAgent, ...others] = operands;
      return others.length === 0 ? first : { kind: "or", operands };
    }
    default:
      if (condition.key.source !== "param") return condition;
      return matchesValue(condition, params(condition.key.name)) ? everyAgent : noAgent;
  }
}

/** Whether {@link withParams} found that a condition holds on no agent, whatever it has. */
export function matchesNobody(selector: Selector): boolean {
  return selector.kind === "not" && selector.operand.kind === "all";
}

/** Every term of a condition that looks at a param. */
export function paramTerms(condition: Selector): (SelectorTerm & { key: SelectorKey })[] {
  switch (condition.kind) {
    case "all":
      return [];
    case "not":
      return paramTerms(condition.operand);
    case "and":
    case "or":
      return condition.operands.flatMap(paramTerms);
    default:
      return condition.key.source === "param" ? [condition] : [];
  }
}

/** Whether a condition holds on an agent. */
export function holds(condition: Selector, target: SelectorTarget, params: ParamTexts): boolean {
  return matchesSelector(withParams(condition, params), target);
}

/** A key that decided about a condition, and what it is there. */
export interface Decider {
  key: SelectorKey;
  /** Undefined where the agent lacks the key. */
  value: string | undefined;
}

/** The keys by which a condition does not hold on an agent (or, where it does, by which it does), each once. */
export function findDeciders(condition: Selector, target: SelectorTarget, params: ParamTexts): Decider[] {
  const found = new Map<string, Decider>();
  const visit = (part: Selector): void => {
    switch (part.kind) {
      case "all":
        return;
      case "not":
        return visit(part.operand);
      case "and":
      case "or": {
        const result = holds(part, target, params);
        const deciding = part.operands.filter((each) => holds(each, target, params) === result);
        // One that fails decides about all; that none of several holds is for all of them to show.
        return (part.kind === "and") === result
          ? deciding.forEach(visit)
          : deciding.slice(0, 1).forEach(visit);
      }
      default: {
        const { key } = part;
        const value = key.source === "param" ? params(key.name) : valueOf(target, key);
        found.set(`${key.source}:${key.name}`, { key, value });
      }
    }
  };
  visit(condition);
  return [...found.values()];
}
