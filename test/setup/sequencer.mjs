import Sequencer from '@jest/test-sequencer';

/**
 * jest begins with the longest file of the last run, and on the first run with the largest one. The files of the torture
 * scenarios are short, and their tests are not: on the first run they are spread among those that come first. At the
 * end, they would all run at the same time.
 */
export default class extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    const isScenario = ({ path, duration }) => duration === undefined && path.includes('/test/torture/');
    const scenarios = sorted.filter(isScenario);
    const others = sorted.filter((test) => !isScenario(test));
    const spread = others.flatMap((test, index) => [...(index % 3 === 0 ? scenarios.splice(0, 1) : []), test]);
    return [...spread, ...scenarios];
  }
}
