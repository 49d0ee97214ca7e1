// Makes names from metadata.generateName: the base and five random characters. Source: apiserver
// names.SimpleNameGenerator.

/**
 * Letters of generated names, without vowels and look-alikes, so that names form no words and are easy to read. Source:
 * apimachinery util/rand.
 */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789';
const suffixLength = 5;
const maxBaseLength = 63 - suffixLength;

/**
 * Maximum number of attempts to create an object with a generated name. Source:
 * registry.maxNameGenerationCreateAttempts.
 */
export const maxNameAttempts = 8;

/** `random` returns numbers in [0, 1). */
export function generateName(base: string, random: () => number): string {
  let name = base.slice(0, maxBaseLength);
  for (let i = 0; i < suffixLength; i++) name += alphabet[Math.floor(random() * alphabet.length)] ?? '';
  return name;
}
