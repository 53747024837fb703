/* What the page of a report uses of vega-embed, which vl-convert brings. */

interface VegaScale {
  (value: unknown): number;
  bandwidth?(): number;
}

interface VegaView {
  scale(name: string): VegaScale;
  origin(): [x: number, y: number];
  signal(name: string, value: unknown): VegaView;
  runAsync(): Promise<VegaView>;
  finalize(): void;
}

declare function vegaEmbed(
  host: HTMLElement,
  spec: object,
  options: object,
): Promise<{ view: VegaView }>;
