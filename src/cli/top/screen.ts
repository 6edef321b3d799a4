/** A terminal that shows one picture at a time, and is left as it was. */
export interface Terminal {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
}

/** Source: xterm, "Control Sequences": the alternate screen keeps what the terminal showed before. */
const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const HOME = '\x1b[H';
const CLEAR_LINE = '\x1b[K';
const CLEAR_BELOW = '\x1b[J';
const CTRL_C = '\u0003';

export class Screen {
  private isOpen = false;

  /**
   * @param draw makes the lines of a picture
   * @param onQuit called when the operator presses q or Ctrl-C
   */
  constructor(
    private readonly terminal: Terminal,
    private readonly draw: (size: { columns: number; rows: number }) => readonly string[],
    private readonly onQuit: () => void,
  ) {}

  open(): void {
    const { input, output } = this.terminal;
    this.isOpen = true;
    output.write(ENTER);
    input.setRawMode(true);
    input.setEncoding('utf8');
    input.on('data', this.onInput);
    output.on('resize', this.redraw);
    // However the process ends, the terminal is left clean.
    process.once('exit', this.close);
  }

  readonly redraw = (): void => {
    if (!this.isOpen) return;
    const { output } = this.terminal;
    const lines = this.draw({ columns: output.columns, rows: output.rows - 1 });
    // Overwriting flickers less than clearing first.
    output.write(`${HOME}${lines.map((line) => `${line}${CLEAR_LINE}\r\n`).join('')}${CLEAR_BELOW}`);
  };

  readonly close = (): void => {
    if (!this.isOpen) return;
    const { input, output } = this.terminal;
    this.isOpen = false;
    input.off('data', this.onInput);
    input.setRawMode(false);
    input.pause();
    output.off('resize', this.redraw);
    output.write(LEAVE);
  };

  private readonly onInput = (keys: string): void => {
    if (keys.includes('q') || keys.includes(CTRL_C)) this.onQuit();
  };
}
