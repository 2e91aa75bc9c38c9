import type { JsonObject } from '../../apimachinery/json/json.js';

/** Why a document cannot be converted; the document stays as it was. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/** What a conversion may say beside its result. */
export interface Notes {
  /** Something that the user should know, though the meaning is kept. */
  warn(text: string): void;
  /** The new version has no place for something. Throws a Refusal unless losses are allowed; then it warns. */
  lose(text: string): void;
}

/** Changes a copy of the object in place; `apiVersion` is set by the caller. Throws a Refusal. */
export type Convert = (object: JsonObject, notes: Notes, apiVersion: string) => void;

/** The conversion of some kinds of one group. */
export interface Row {
  /** The versions that it converts from. */
  readonly from: readonly string[];
  readonly kinds: readonly string[];
  readonly to: string;
  /** Without it only `apiVersion` changes. */
  readonly convert?: Convert;
  /** The old version is served still: only `--output-version` asks for the conversion. */
  readonly onRequest?: boolean;
}

/** Kinds that nothing replaces. */
export interface Dead {
  readonly from: readonly string[];
  readonly kinds: readonly string[];
  readonly reason: string;
}
