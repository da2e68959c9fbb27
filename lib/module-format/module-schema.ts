import { z } from "zod";
import { nameSchema } from "../internal/common-schemas.ts";
import { paramsSchema } from "./params.ts";

/** Limits of a module; past them it is refused. */
export const moduleLimits = {
  /** Bytes of the text. */
  bytes: 512 * 1024,
  /** Resources of one module. */
  resources: 2000,
  /** Lists and maps within each other. */
  depth: 32,
  /** Params of one module. */
  params: 1000,
  /** Steps of reading it: of 300,000 words, signs, blanks and line ends, or of fewer and patterns of params. */
  steps: 12_000_000,
  /** Expressions and tags of all templates. */
  expressions: 5_000,
  /** Expressions and tags of one text: finding their places takes expressions times characters. */
  expressionsOfText: 500,
  /** Characters of one expression or tag. */
  expressionLength: 1_000,
  /** Characters of all expressions and tags of one text. */
  expressionLengthOfText: 20_000,
} as const;

/** A module as it is written, but for its resources, which their types know. */
export const moduleTextSchema = z.strictObject({
  /** Unique in the fleet. */
  name: nameSchema,
  /** What it is for. */
  description: z.string().max(1024).optional(),
  /** Selectors; an agent that none of them matches is refused before anything runs. Default: every agent is supported. */
  supports: z.array(z.string().max(4096)).max(100).default([]),
  /** Modules that must have been applied before it on every agent that has it. Default: none. */
  requires: z.array(nameSchema).max(100).default([]),
  /** What becomes of its resources when they are not desired any more, where they do not say so themselves. */
  removal: z.enum(["restore", "keep"]).default("restore"),
  /** What may be set where the module is used, and what templates call `params`. */
  params: paramsSchema.default({}),
  /** What is to be there, in the order in which it is to be made where nothing else says so. */
  resources: z.array(z.record(z.string(), z.unknown())).max(moduleLimits.resources),
});
