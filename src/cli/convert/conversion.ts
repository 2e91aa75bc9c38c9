import type { JsonObject } from '../../apimachinery/json/json.js';

/** The reason why a document cannot be converted; the document stays as it was. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/** Receives remarks about a conversion. */
export interface Notes {
  /** Reports something that the user should know, although the meaning is preserved. */
  warn(text: string): void;
  /** Reports something that the new version has no place for. Throws a Refusal, or warns if losses are allowed. */
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
  /** If it is missing, only `apiVersion` changes. */
  readonly convert?: Convert;
  /** True if the old version is still served: only `--output-version` asks for the conversion. */
  readonly onRequest?: boolean;
}

/** Kinds without a replacement. */
export interface Dead {
  readonly from: readonly string[];
  readonly kinds: readonly string[];
  readonly reason: string;
}
