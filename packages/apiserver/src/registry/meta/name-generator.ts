// Names from metadata.generateName: the base and five random characters. Source: apiserver names.SimpleNameGenerator.

/** Without vowels and look-alikes, so that no word and no doubt comes out. Source: apimachinery util/rand. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789';
const suffixLength = 5;
const maxBaseLength = 63 - suffixLength;

/** How often a create with a generated name is tried. Source: registry.maxNameGenerationCreateAttempts. */
export const maxNameAttempts = 8;

/** `random` gives numbers in [0, 1). */
export function generateName(base: string, random: () => number): string {
  let name = base.slice(0, maxBaseLength);
  for (let i = 0; i < suffixLength; i++) name += alphabet[Math.floor(random() * alphabet.length)] ?? '';
  return name;
}
