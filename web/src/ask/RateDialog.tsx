import { useSignal } from "@preact/signals";
import { Rating } from "../gen/sourcier/gateway/v1/conversation_pb";
import { t } from "../i18n";
import { Dialog } from "../ui/Dialog";
import { rate } from "./session";
import type { Turn } from "./turn";

export function RateDialog({ turn, rating, onClose }: { turn: Turn; rating: Rating; onClose: () => void }) {
  const words = t().ask.rate;
  const comment = useSignal(turn.ratingComment);
  return (
    <Dialog title={rating === Rating.UP ? words.up : words.down} onClose={onClose}>
      <form onSubmit={(event) => {
        event.preventDefault();
        void rate(turn, rating, comment.value.trim()).then(onClose);
      }}>
        <label>{words.comment} <small>({t().common.optional})</small>
          <textarea rows={4} maxLength={2_000} placeholder={words.hint} value={comment.value}
            onInput={(event) => (comment.value = event.currentTarget.value)} />
        </label>
        <div class="actions">
          <button type="button" onClick={onClose}>{t().common.cancel}</button>
          <button type="submit" class="primary">{words.send}</button>
        </div>
      </form>
    </Dialog>
  );
}
