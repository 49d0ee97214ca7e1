// Names of container images, as far as defaults look at them.

/** An image without tag and digest, or with the tag "latest". Source: parsers.ParseImageName. */
export function isLatest(image: string): boolean {
  const [name = '', digest] = image.split('@');
  const tag = /:([^/]+)$/.exec(name)?.[1];
  return tag === undefined ? digest === undefined : tag === 'latest';
}
