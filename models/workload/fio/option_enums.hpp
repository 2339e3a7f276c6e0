// Words that fio options choose among. Inside the job file reader only; InputError on any other
// word, with the accepted ones.
#pragma once
#include "models/workload/fio/values.hpp"

namespace storlab::fio {

Access access_named(const Text& word);
Engine engine_named(const Text& word);
Sync sync_named(const Text& word);
Sequencer sequencer_named(const Text& word);
RateProcess rate_process_named(const Text& word);
bool offload_named(const Text& word); // io_submit_mode
ThinkAfter think_after_named(const Text& word);
Reporting reporting_named(const Text& word);

} // namespace storlab::fio
